// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var _ = DescribeTable("A pod that asks for more devices than any node has evicts nobody and is promised nothing, where the quota", func(ctx context.Context, quota int64, reason string, message func(queue, class string) string) {
	f := newFixture(ctx)
	class := f.model(ctx, "scarce")
	f.node(ctx, "small", devices(2, "scarce", nil)...)
	queue := f.queue(ctx, "team", "root", limit(class, quota))
	low, high := f.priorityClass(ctx, "low", 1), f.priorityClass(ctx, "high", 1000)
	f.template(ctx, "single", exactly(class, 1))
	f.template(ctx, "three", exactly(class, 3))
	f.submit(ctx, elastic("low", queue, 2, "single").withPriority(low))
	f.expectRunning(ctx, "low", 2)
	before := f.podsRunning(ctx, "low")
	f.submit(ctx, gang("high", queue, 1).fromTemplate("three").withPriority(high))
	f.expectRefused(ctx, "high", reason, message(queue, class))
	waitForCycles(ctx)
	f.expectRefused(ctx, "high", reason, message(queue, class))
	Expect(f.podsRunning(ctx, "low")).To(Equal(before), "pods that no eviction helps")
	Expect(eventsIn(ctx, f.namespace, "")).NotTo(ContainElement(ContainSubstring("can possibly be assigned")))
	expectAllocated(ctx, queue, class+"/count", 2)
},
	Entry("allows it", int64(8), "NeverFits", func(_, class string) string {
		return "No node has as much <" + class + "> as a pod requests, which is <3>: the largest has <2>. The quota of the queue allows it"
	}),
	Entry("needs victims", int64(4), "NeverFits", func(queue, class string) string { return insufficient(queue, class, 3, 5, 4) }),
)

// podsRunning returns the UIDs of the running pods of a job.
func (f *fixture) podsRunning(ctx context.Context, name string) map[types.UID]bool {
	running := map[types.UID]bool{}
	for _, pod := range f.pods(ctx, name) {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running[pod.UID] = true
		}
	}
	return running
}
