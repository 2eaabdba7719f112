// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// insufficient returns the message of the scheduler plugin. The dispatcher uses it, too.
func insufficient(queue, dimension string, requested, total, capability any) string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%v>, total would be <%v>, but capability is <%v>",
		queue, dimension, requested, total, capability)
}

// existing waits until the binding of a workload exists, and returns it.
func (f *fixture) existing(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) *workv1alpha2.ResourceBinding {
	GinkgoHelper()
	var binding *workv1alpha2.ResourceBinding
	f.Eventually(func() *workv1alpha2.ResourceBinding {
		binding = f.binding(ctx, kind, name)
		return binding
	}).WithContext(ctx).ShouldNot(BeNil(), "binding of %s %s", kind.Kind, name)
	return binding
}

func isHeld(binding *workv1alpha2.ResourceBinding) bool {
	return binding.Spec.Suspension != nil && ptr.Deref(binding.Spec.Suspension.Scheduling, false)
}

// expectNotified waits until the workload and its binding have an event with a reason and all given words.
func (f *fixture) expectNotified(ctx context.Context, kind policyv1alpha1.ResourceSelector, name, reason string, words ...string) {
	GinkgoHelper()
	f.expectEvent(ctx, kind.Kind, name, reason, words...)
	f.expectEvent(ctx, workv1alpha2.ResourceKindResourceBinding, names.GenerateBindingName(kind.Kind, name), reason, words...)
}

// expectEvent waits until an object has an event with a reason and all given words.
func (f *fixture) expectEvent(ctx context.Context, kind, name, reason string, words ...string) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		events, err := hub.kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		told := []string{}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
				told = append(told, e.Reason+": "+e.Message)
			}
		}
		g.Expect(slices.ContainsFunc(told, func(text string) bool { return strings.HasPrefix(text, reason+": ") && containsAll(text, words) })).To(
			BeTrue(), "%s %s has an event %s with %q; it has:\n%s", kind, name, reason, words, strings.Join(told, "\n"))
	}).WithContext(ctx).Should(Succeed())
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// expectHeld waits until a workload has an event that it is held, and checks that no member has it.
func (f *fixture) expectHeld(ctx context.Context, kind policyv1alpha1.ResourceSelector, name, reason string, words ...string) {
	GinkgoHelper()
	f.expectNotified(ctx, kind, name, reason, words...)
	f.expectNowhere(ctx, kind, name)
}

// expectNowhere checks that a workload is suspended and that no member has a pod of it.
func (f *fixture) expectNowhere(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) {
	GinkgoHelper()
	binding := f.existing(ctx, kind, name)
	f.Expect(isHeld(binding)).To(BeTrue(), "binding of %s %s is suspended: %+v", kind.Kind, name, binding.Spec.Suspension)
	f.Expect(binding.Spec.Clusters).To(BeEmpty(), "clusters of %s %s", kind.Kind, name)
	f.Expect(f.allPods(ctx, name)).To(BeEmpty(), "pods of %s %s", kind.Kind, name)
}

// allPods returns the pods of a workload in all members that have not ended.
func (f *fixture) allPods(ctx context.Context, workload string) []corev1.Pod {
	GinkgoHelper()
	var all []corev1.Pod
	for _, member := range members {
		pods, err := member.kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{LabelSelector: workloadLabel + "=" + workload})
		f.Expect(err).NotTo(HaveOccurred())
		for i := range pods.Items {
			if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				all = append(all, pods.Items[i])
			}
		}
	}
	return all
}

// finish makes the running pods of a workload succeed.
func (f *fixture) finish(ctx context.Context, workload string) {
	GinkgoHelper()
	f.endPods(ctx, workload, func(member clients, pod *corev1.Pod) error {
		_, err := member.kube.CoreV1().Pods(f.namespace).Patch(ctx, pod.Name, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"devicequota.io/run-for":"1ms"}}}`), metav1.PatchOptions{})
		return err
	})
}

// fail makes the running pods of a workload fail.
func (f *fixture) fail(ctx context.Context, workload string) {
	GinkgoHelper()
	f.endPods(ctx, workload, func(member clients, pod *corev1.Pod) error {
		_, err := member.kube.CoreV1().Pods(f.namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
		return err
	})
}

func (f *fixture) endPods(ctx context.Context, workload string, end func(clients, *corev1.Pod) error) {
	GinkgoHelper()
	ended := 0
	for _, member := range members {
		pods, err := member.kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{LabelSelector: workloadLabel + "=" + workload})
		f.Expect(err).NotTo(HaveOccurred())
		for i := range pods.Items {
			f.Expect(end(member, &pods.Items[i])).To(Succeed())
			ended++
		}
	}
	f.Expect(ended).NotTo(BeZero(), "pods of %s", workload)
}

// expectGone waits until no member has a pod of a workload that has not ended.
func (f *fixture) expectGone(ctx context.Context, workload string) {
	GinkgoHelper()
	f.Eventually(func() []corev1.Pod { return f.allPods(ctx, workload) }).WithContext(ctx).Should(BeEmpty(), "pods of %s", workload)
}

// nextSecond waits until a new binding would be younger than the binding of a workload. Timestamps have seconds.
func (f *fixture) nextSecond(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) {
	GinkgoHelper()
	created := f.existing(ctx, kind, name).CreationTimestamp
	f.Eventually(func() int64 { return time.Now().Unix() }).WithContext(ctx).Should(BeNumerically(">", created.Unix()))
}

// replay returns all releases so far. It fails if any queue released more than it may hold, or if more ran in the members.
func (f *fixture) replay(ctx context.Context) *replay {
	GinkgoHelper()
	bindings, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).List(ctx, metav1.ListOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	var changes []change
	f.Eventually(func(g Gomega) {
		changes, err = record.ordered(f.namespace)
		g.Expect(err).NotTo(HaveOccurred(), "the record of all changes is complete")
		seen := map[types.UID]string{}
		for _, c := range changes {
			if c.resource == bindingResource {
				seen[c.object.GetUID()] += " " + c.object.GetResourceVersion()
			}
		}
		for i := range bindings.Items {
			g.Expect(strings.Fields(seen[bindings.Items[i].UID])).To(ContainElement(bindings.Items[i].ResourceVersion), "versions of binding %s", bindings.Items[i].Name)
		}
	}).WithContext(ctx).Should(Succeed())
	sightings, err := sampled.of(f.namespace)
	f.Expect(err).NotTo(HaveOccurred(), "the samples of the pods are complete")
	r, exceeded := replayed(changes)
	f.Expect(strings.Join(r.exceeded(sightings), "\n")).To(BeEmpty(), "moments at which more ran in the members than a queue might hold")
	f.Expect(exceeded).NotTo(HaveOccurred())
	return r
}

// expectQuotasKept checks that no queue ever released or ran more than it may hold.
func (f *fixture) expectQuotasKept(ctx context.Context) {
	GinkgoHelper()
	f.replay(ctx)
}

// expectReleased waits until exactly these workloads have been released, in this order.
func (f *fixture) expectReleased(ctx context.Context, workloads ...string) {
	GinkgoHelper()
	f.Eventually(func() []string { return f.replay(ctx).order }).WithContext(ctx).Should(Equal(workloads), "workloads in the order in which they were released")
}
