// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const jobManifest = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-h100, namespace: default}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: nvidia-h100, count: 1}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %[1]s, namespace: default}
spec:
  schedulerName: %[2]s
  queue: %[3]s
  minAvailable: 1
  tasks:
  - name: worker
    replicas: %[4]d
    minAvailable: 1
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: registry.example.com/main:v1
          resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}
        resourceClaims: [{name: gpu, resourceClaimTemplateName: one-h100}]
`

// submit creates a Volcano Job with a number of pods of one device each.
func (e *environment) submit(name, schedulerName, queue string, pods int) {
	e.t.Helper()
	e.Expect(e.cluster.ApplyYAML(e.ctx, name, fmt.Appendf(nil, jobManifest, name, schedulerName, queue, pods))).To(Succeed())
}

// running returns the number of running pods of a job. Each of them must have a claim with a device.
func (e *environment) running(job string) (int, error) {
	pods, err := e.kube.CoreV1().Pods("default").List(e.ctx, metav1.ListOptions{LabelSelector: batchv1alpha1.JobNameKey + "=" + job})
	if err != nil {
		return 0, err
	}
	running := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		claim, err := e.kube.ResourceV1().ResourceClaims("default").Get(e.ctx, *pod.Status.ResourceClaimStatuses[0].ResourceClaimName, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		if claim.Status.Allocation != nil && len(claim.Status.Allocation.Devices.Results) == 1 {
			running++
		}
	}
	return running, nil
}

// expectRunning waits until a number of pods of a job run with one device each.
func (e *environment) expectRunning(job string, pods int) {
	e.t.Helper()
	e.Eventually(func() (int, error) { return e.running(job) }).Should(Equal(pods), "running pods of job %s", job)
}

// queue creates a queue with a quota of devices.
func (e *environment) queue(name string, devices int) {
	e.t.Helper()
	manifest := "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {parent: root, dra: {capability: {nvidia-h100: {count: %d}}}}\n"
	e.Expect(e.cluster.ApplyYAML(e.ctx, name, fmt.Appendf(nil, manifest, name, devices))).To(Succeed())
}

// servesDRA reports whether the API server keeps spec.dra of queues.
func (e *environment) servesDRA() bool {
	e.t.Helper()
	return e.sh("kubectl get crd queues.scheduling.volcano.sh -o jsonpath='{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.dra.type}'") == "object"
}

// expectEvent waits until an object, such as "Queue team", has an event with a reason.
func (e *environment) expectEvent(object, reason string) {
	e.t.Helper()
	e.Eventually(func() string {
		return e.sh(`kubectl get events -A -o jsonpath='{range .items[*]}{.involvedObject.kind} {.involvedObject.name} {.reason}{"\n"}{end}'`)
	}).Should(ContainSubstring(object + " " + reason + "\n"))
}
