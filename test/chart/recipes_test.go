// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Flags of the recipes in which Volcano's chart runs the scheduler.
const (
	// besideVolcano limits our chart to the CRD, the permissions of Volcano's ServiceAccount, and the admission policies.
	besideVolcano = "--set scheduler.enabled=false,serviceAccount.create=false,serviceAccount.name=volcano-scheduler"
	ourConfig     = "--set-file custom.scheduler_config_override=config/scheduler/volcano-scheduler.conf"
	postRenderer  = "--post-renderer charts/devicequota/post-render-volcano.sh"
)

// TestVolcanosChartRunsTheScheduler tests the second and the third recipe: Volcano's chart runs our image, by its values or by the post-renderer.
func TestVolcanosChartRunsTheScheduler(t *testing.T) {
	e := newCluster(t)
	e.installVolcano("v1.14.1")
	e.installOurs(besideVolcano)
	before := e.ours()
	e.Expect(e.sh("kubectl -n volcano-system get deployment -o name")).NotTo(ContainSubstring("devicequota"))

	e.step("by the post-renderer, first the image with Volcano's configuration", func(e *environment) {
		e.installVolcano("v1.14.1", "--reset-then-reuse-values", postRenderer, "--post-renderer-args --image="+repository+":v0.1.0")
		e.Expect(e.schedulerImage()).To(Equal(repository + ":v0.1.0"))
		e.Expect(e.servesDRA()).To(BeTrue())
		s := e.runScheduler("volcano-scheduler")
		e.Expect(e.cluster.StartVolcanoControllers(e.ctx)).To(Succeed())
		e.Expect(e.cluster.ApplyYAML(e.ctx, "pod", []byte(plainPod))).To(Succeed())
		e.Eventually(func() string { return e.sh("kubectl get pod plain -o jsonpath={.status.phase}") }).Should(Equal("Running"), "with proportion and overcommit")
		s.expectNothingForbidden()
		s.stop()
	})
	e.step("then the configuration", func(e *environment) {
		e.installVolcano("v1.14.1", "--reset-then-reuse-values", postRenderer, "--post-renderer-args --image="+repository+":v0.1.0", ourConfig)
		e.Expect(e.schedulerConfiguration()).To(Equal(e.fileOf("config/scheduler/volcano-scheduler.conf")))
		s := e.runScheduler("volcano-scheduler")
		e.queue("team", 2)
		e.submit("train", "volcano", "team", 3)
		e.expectRunning("train", 2)
		s.expectNothingForbidden()
		s.stop()
	})
	e.step("an upgrade with the same flags keeps all", func(e *environment) {
		e.installVolcano("v1.15.1", "--reset-then-reuse-values", postRenderer, "--post-renderer-args --image="+repository+":v0.1.0")
		e.Expect(e.schedulerImage()).To(Equal(repository + ":v0.1.0"))
		e.Expect(e.schedulerConfiguration()).To(Equal(e.fileOf("config/scheduler/volcano-scheduler.conf")))
		e.Expect(e.servesDRA()).To(BeTrue())
		e.Expect(e.ours()).To(Equal(before))
	})
	e.step("an upgrade without any flags reverts image, configuration, and CRD, but no permission", func(e *environment) {
		e.installVolcano("v1.15.1", "--reset-values")
		e.Expect(e.schedulerImage()).To(Equal("docker.io/volcanosh/vc-scheduler:v1.15.1"))
		e.Expect(e.schedulerConfiguration()).To(ContainSubstring("proportion"))
		e.Expect(e.servesDRA()).To(BeFalse())
		e.Expect(e.ours()).To(Equal(before))
		allowed := "kubectl auth can-i patch queues.scheduling.volcano.sh --as system:serviceaccount:volcano-system:volcano-scheduler"
		e.Expect(e.sh(allowed)).To(Equal("yes\n"), "Volcano's own ClusterRole does not allow it")
	})
	e.step("by the values of Volcano 1.15", func(e *environment) {
		e.installVolcano("v1.15.1", "--reset-then-reuse-values", postRenderer, ourConfig, "--set basic.image_registry=registry.example.com "+
			"--set basic.scheduler_image_name=devicequota/vc-scheduler,basic.scheduler_image_tag_version=v0.1.0 "+
			"--set custom.scheduler_replicas=2,custom.leader_elect_enable=true")
		e.Expect(e.schedulerImage()).To(Equal(repository + ":v0.1.0"))
		e.Expect(e.schedulerConfiguration()).To(Equal(e.fileOf("config/scheduler/volcano-scheduler.conf")))
		e.Expect(e.servesDRA()).To(BeTrue())
		s := e.runScheduler("volcano-scheduler")
		e.submit("more", "volcano", "default", 1)
		e.expectRunning("more", 1)
		s.expectNothingForbidden()
	})
}

const plainPod = `
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: default}
spec:
  schedulerName: volcano
  containers:
  - {name: main, image: registry.example.com/main:v1, resources: {requests: {cpu: "1"}}}
`

func (e *environment) volcanoDeployment() *appsv1.Deployment {
	e.t.Helper()
	found, err := e.kube.AppsV1().Deployments(namespace).Get(e.ctx, "volcano-scheduler", metav1.GetOptions{})
	e.Expect(err).NotTo(HaveOccurred())
	return found
}

// schedulerImage returns the image in the Deployment of Volcano's chart.
func (e *environment) schedulerImage() string {
	e.t.Helper()
	return e.volcanoDeployment().Spec.Template.Spec.Containers[0].Image
}

// schedulerConfiguration returns the configuration in the ConfigMap of Volcano's chart.
func (e *environment) schedulerConfiguration() string {
	e.t.Helper()
	return e.sh(`kubectl -n volcano-system get configmap volcano-scheduler-configmap -o jsonpath='{.data.volcano-scheduler\.conf}'`)
}

func (e *environment) fileOf(path string) string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	e.Expect(err).NotTo(HaveOccurred())
	return string(text)
}
