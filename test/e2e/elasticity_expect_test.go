// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// remove deletes the pods of a group. The test's own deletions do not count as evictions.
func (s *scene) remove(ctx context.Context, group string) {
	GinkgoHelper()
	s.record.expectDeletion(group)
	Expect(kube.CoreV1().Pods(s.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: groupLabel + "=" + group})).To(Succeed())
}

// expectNotified waits until each evicted pod of a group has an event with a reason and a message.
func (s *scene) expectNotified(ctx context.Context, group, reason string, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		events, err := kube.CoreV1().Events(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		g.Expect(err).NotTo(HaveOccurred())
		told := map[types.UID][]string{}
		for _, e := range events.Items {
			told[e.InvolvedObject.UID] = append(told[e.InvolvedObject.UID], e.Message)
		}
		for uid, h := range s.record.histories() {
			if h.evicted && h.pod.Labels[groupLabel] == group {
				g.Expect(told[uid]).To(ConsistOf(message), "events %s of pod %s", reason, h.pod.Name)
			}
		}
	}).WithContext(ctx).Should(Succeed())
}

// names matches a message that has all of these words.
func names(words ...string) gomegatypes.GomegaMatcher {
	all := make([]gomegatypes.GomegaMatcher, 0, len(words))
	for _, word := range words {
		all = append(all, ContainSubstring(word))
	}
	return SatisfyAll(all...)
}

// expectPromised checks that all pods of a group were promised a node while other pods left it.
func (s *scene) expectPromised(group string) {
	GinkgoHelper()
	for _, h := range s.record.histories() {
		if h.pod.Labels[groupLabel] == group {
			Expect(h.nominated).To(Equal(h.pod.Spec.NodeName), "the node that pod %s was promised, and its node", h.pod.Name)
		}
	}
}

// expectExplained waits until n pods of a group without a node have a condition with a message.
func (s *scene) expectExplained(ctx context.Context, group string, n int, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pods, err := kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + group})
		g.Expect(err).NotTo(HaveOccurred())
		explained, all := 0, ""
		for _, pod := range pods.Items {
			for _, c := range pod.Status.Conditions {
				if c.Type != corev1.PodScheduled || c.Status == corev1.ConditionTrue {
					continue
				}
				all += fmt.Sprintf("%s: %s: %s\n", pod.Name, c.Reason, c.Message)
				if matches, err := message.Match(c.Message); err == nil && matches {
					explained++
				}
			}
		}
		g.Expect(explained).To(Equal(n), "pods of %s whose condition explains why they wait; conditions:\n%s", group, all)
	}).WithContext(ctx).Should(Succeed())
}

// expectGroupExplained waits until the condition Waiting of the PodGroup of a Volcano Job has a message.
func (s *scene) expectGroupExplained(ctx context.Context, job string, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	name := s.podGroup(ctx, job)
	Eventually(func(g Gomega) {
		group, err := vc.SchedulingV1beta1().PodGroups(s.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(group.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", BeEquivalentTo("Waiting")), HaveField("Message", message))))
	}).WithContext(ctx).Should(Succeed())
}
