// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

func guardOfDeletions() {
	const (
		atOnce  = "before its node has ended it, so that its queue would not be charged any more for what it uses: give it a grace period of 1 second or more"
		tooLong = "would be deleted within 7200 seconds, and not within 3600"
	)
	bound := asPod(template("", "schedulerName: volcano, nodeName: nobody"))
	others := asPod(template("", "nodeName: nobody"))
	waiting := asPod(template("", "schedulerName: volcano, nodeSelector: {no: node}"))
	within := func(seconds int64, a attempt) attempt {
		a.grace = ptr.To(seconds)
		if a.evict == "" {
			a.remove = !a.removeAll
		}
		return a
	}
	eviction := func(seconds int64, existing string) attempt {
		return attempt{existing: existing, evict: fmt.Sprintf("apiVersion: policy/v1\nkind: Eviction\ndeleteOptions: {gracePeriodSeconds: %d, dryRun: [All]}", seconds)}
	}
	DescribeTable("lets nodes say when a pod has ended:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("a pod that is deleted at once", nobodyBut(atOnce, within(0, attempt{existing: bound}))),
		Entry("a pod that is deleted", everybody(attempt{existing: bound, remove: true})),
		Entry("a pod that is deleted soon", everybody(within(1, attempt{existing: bound}))),
		Entry("a pod that is deleted very late", nobodyBut(tooLong, within(7200, attempt{existing: bound}))),
		Entry("all pods, at once", nobodyBut(atOnce, within(0, attempt{existing: bound, removeAll: true}))),
		Entry("all pods", everybody(attempt{existing: bound, removeAll: true})),
		Entry("a pod that is evicted at once", nobodyBut("would be evicted before its node has ended it", eviction(0, bound))),
		Entry("a pod that is evicted", everybody(eviction(30, bound))),
		Entry("a pod that is evicted very late", nobodyBut("would be evicted within 7200 seconds, and not within 3600", eviction(7200, bound))),
		Entry("a pod of an older time that is deleted at once unless somebody says otherwise", nobodyBut(atOnce,
			attempt{existing: asPod(template("", "schedulerName: volcano, nodeName: nobody, terminationGracePeriodSeconds: 0")), remove: true})),
		Entry("all pods of an older time", nobodyBut(atOnce,
			attempt{existing: asPod(template("", "schedulerName: volcano, nodeName: nobody, terminationGracePeriodSeconds: 0")), removeAll: true})),
		Entry("a pod of an older time that may take very long", nobodyBut(tooLong,
			attempt{existing: asPod(template("", "schedulerName: volcano, nodeName: nobody, terminationGracePeriodSeconds: 7200")), remove: true})),
		Entry("a pod that has no node", everybody(within(0, attempt{existing: waiting}))),
		Entry("a pod of another scheduler", everybody(within(0, attempt{existing: others}))),
		Entry("a namespace that is not guarded", everybody(within(0, attempt{existing: bound, namespace: "default"}))),
	)

	It("lets everybody delete a pod at once that has ended", func(ctx context.Context) {
		pods := kube.CoreV1().Pods(guarded)
		pod := must(pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ended"}, Spec: corev1.PodSpec{
			SchedulerName: "volcano", NodeName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "i"}},
		}}, metav1.CreateOptions{}))
		must(pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status": {"phase": "Failed"}}`), metav1.PatchOptions{}, "status"))
		Expect(kubernetes.NewForConfigOrDie(as(stranger)).CoreV1().Pods(guarded).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))).To(Succeed())
	})
}
