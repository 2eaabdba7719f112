// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// crossquotaFixture has the objects of one case in a cluster with the plugin crossquota.
type crossquotaFixture struct{ *fixture }

// node creates a node with eight cores, 32Gi of memory, and additional resources in YAML.
func (f *crossquotaFixture) node(ctx context.Context, name, more string) string {
	name = f.namespace + "-" + name
	Expect(controlPlane.ApplyYAML(ctx, "node", fmt.Appendf(nil, `
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {fixture: %[2]s, node: %[1]s}}
status:
  allocatable: &all {cpu: "8", memory: 32Gi, pods: "50", %[3]s}
  capacity: *all
`, name, f.namespace, more))).To(Succeed())
	return name
}

// create creates a pod for a node, or for any node of the fixture if node is empty.
func (f *crossquotaFixture) create(ctx context.Context, name, node, cpu string, changes ...func(*corev1.Pod)) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers:   []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}},
			NodeSelector: map[string]string{"fixture": f.namespace},
		},
	}
	if node != "" {
		pod.Spec.NodeSelector["node"] = node
	}
	pod.Spec.Containers[0].Resources.Requests = amount(corev1.ResourceCPU, cpu)
	for _, change := range changes {
		change(pod)
	}
	must(f.kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
}

// run creates a pod and waits until it runs.
func (f *crossquotaFixture) run(ctx context.Context, name, node, cpu string, changes ...func(*corev1.Pod)) {
	GinkgoHelper()
	f.create(ctx, name, node, cpu, changes...)
	f.expectPodRuns(ctx, name)
}

func (f *crossquotaFixture) podNames(ctx context.Context) (names []string) {
	GinkgoHelper()
	for _, pod := range must(f.kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})).Items {
		names = append(names, pod.Name)
	}
	return names
}

func requesting(name corev1.ResourceName) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		resources := &pod.Spec.Containers[0].Resources
		resources.Requests[name] = amount(name, "1")[name]
		resources.Limits = amount(name, "1")
	}
}

func withMemory(quantity string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = amount(corev1.ResourceMemory, quantity)[corev1.ResourceMemory]
	}
}

func labelled(key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[key] = "yes" }
}

// annotate sets a quota annotation of a node.
func (f *crossquotaFixture) annotate(ctx context.Context, node, suffix, value string) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"volcano.sh/crossquota-%s":%q}}}`, suffix, value)
	must(f.kube.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}))
}

// expectWaits waits until the condition of a pod without a node has a message.
func (f *crossquotaFixture) expectWaits(ctx context.Context, name, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod, err := f.kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Spec.NodeName).To(BeEmpty(), "node of pod %s", name)
		g.Expect(pod.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", corev1.PodScheduled), HaveField("Status", corev1.ConditionFalse),
			HaveField("Message", ContainSubstring(message)))), "conditions of pod %s", name)
	}).WithContext(ctx).Should(Succeed())
}

// expectEvents waits until an object has exactly these warnings with a reason, each once.
func (f *crossquotaFixture) expectEvents(ctx context.Context, namespace, kind, name, reason string, messages ...string) {
	GinkgoHelper()
	wanted := make([]any, 0, len(messages))
	for _, message := range messages {
		wanted = append(wanted, ContainSubstring(message))
	}
	Eventually(func() []string {
		events := must(f.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason}))
		var messages []string
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Type == corev1.EventTypeWarning {
				for range max(e.Count, 1) {
					messages = append(messages, e.Message)
				}
			}
		}
		return messages
	}).WithContext(ctx).Should(ConsistOf(wanted...))
}

func (f *crossquotaFixture) expectMetric(ctx context.Context, name, node, resource string, value float64) {
	GinkgoHelper()
	want := fmt.Sprintf("volcano_crossquota_%s{node=%q,resource=%q} %v\n", name, node, resource, value)
	Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).WithPolling(100 * time.Millisecond).Should(ContainSubstring(want))
}
