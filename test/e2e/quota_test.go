// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("A queue's count of devices", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("makes a second job wait until the first releases its devices", func(ctx context.Context) {
		queue := f.queue(ctx, "team", f.queue(ctx, "ml", "root", nil), limit(f.class, 8))
		devices := f.watchDevices()

		f.submit(ctx, gang("first", queue, 6))
		f.expectRunning(ctx, "first", 6)
		f.submit(ctx, gang("second", queue, 4))
		f.expectNotEnqueued(ctx, "second", "InsufficientScalarQuota", insufficient(queue, f.class, 4, 10, 8))

		f.deleteJob(ctx, "first")
		f.expectRunning(ctx, "second", 4)
		Expect(devices.most()).To(BeNumerically("<=", 8))
	})

	It("is released when pods succeed", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		devices := f.watchDevices()
		f.submit(ctx, gang("short", queue, 2).runningFor(time.Second))
		f.submit(ctx, gang("next", queue, 2).runningFor(time.Second))
		f.expectSucceeded(ctx, "short", 2)
		f.expectSucceeded(ctx, "next", 2)
		Eventually(devices.most).WithContext(ctx).Should(Equal(2))
	})

	It("admits the last device and no further one", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 3))
		f.submit(ctx, gang("fits", queue, 3))
		f.expectRunning(ctx, "fits", 3)
		f.submit(ctx, gang("excess", queue, 1))
		f.expectNotEnqueued(ctx, "excess", "InsufficientScalarQuota", insufficient(queue, f.class, 1, 4, 3))
	})

	It("counts the pods of a job that starts with some of them", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 5))
		devices := f.watchDevices()
		f.submit(ctx, gang("elastic", queue, 8).startingWith(2))
		f.expectRunning(ctx, "elastic", 5)
		f.expectPodWarnings(ctx, "elastic", 3, "InsufficientScalarQuota", insufficient(queue, f.class, 1, 6, 5))
		Eventually(devices.most).WithContext(ctx).Should(Equal(5))
	})

	It("applies to claims that pods name", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 5))
		f.claim(ctx, "four", exactly(f.class, 4))
		f.claim(ctx, "two", exactly(f.class, 2))
		f.submit(ctx, gang("holder", queue, 1).usingClaim("four"))
		f.expectRunning(ctx, "holder", 1)
		f.submit(ctx, gang("waiter", queue, 1).usingClaim("two"))
		f.expectNotEnqueued(ctx, "waiter", "InsufficientScalarQuota", insufficient(queue, f.class, 2, 6, 5))
		f.deleteJob(ctx, "holder")
		f.expectRunning(ctx, "waiter", 1)
	})

	It("counts a claim that pods share once", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 4))
		f.claim(ctx, "shared", exactly(f.class, 4))
		f.submit(ctx, gang("sharers", queue, 3).startingWith(1).usingClaim("shared"))
		f.expectRunning(ctx, "sharers", 3)
		f.submit(ctx, gang("other", queue, 1))
		f.expectNotEnqueued(ctx, "other", "InsufficientScalarQuota", insufficient(queue, f.class, 1, 5, 4))
	})

	It("adds up in the parent, which may refuse what its children admit", func(ctx context.Context) {
		parent := f.queue(ctx, "ml", "root", limit(f.class, 6))
		left := f.queue(ctx, "left", parent, limit(f.class, 4))
		right := f.queue(ctx, "right", parent, limit(f.class, 4))
		devices := f.watchDevices()

		f.submit(ctx, gang("left", left, 4))
		f.expectRunning(ctx, "left", 4)
		f.submit(ctx, gang("right", right, 3))
		f.expectNotEnqueued(ctx, "right", "InsufficientScalarQuota", insufficient(parent, f.class, 3, 7, 6))

		f.deleteJob(ctx, "left")
		f.expectRunning(ctx, "right", 3)
		Expect(devices.most()).To(BeNumerically("<=", 6))
	})

	It("is unlimited for a queue without dra", func(ctx context.Context) {
		f.submit(ctx, gang("free", f.queue(ctx, "team", "root", nil), 12))
		f.expectRunning(ctx, "free", 12)
	})

	It("is unlimited for a class that is not listed", func(ctx context.Context) {
		f.submit(ctx, gang("free", f.queue(ctx, "team", "root", limit("another-class", 0)), 12))
		f.expectRunning(ctx, "free", 12)
	})

	It("forbids the class when it is zero", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 0))
		f.submit(ctx, gang("never", queue, 1))
		f.expectNotEnqueued(ctx, "never", "InsufficientScalarQuota", insufficient(queue, f.class, 1, 1, 0))
		setQuota(ctx, queue, limit(f.class, 1))
		f.expectRunning(ctx, "never", 1)
	})

	It("evicts no pod and admits no pod if it is lowered below what is in use", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 8))
		f.submit(ctx, gang("running", queue, 6))
		f.expectRunning(ctx, "running", 6)
		setQuota(ctx, queue, limit(f.class, 2))
		expectColumn(ctx, queue, "DEVICES", f.class+" 6/2") // the scheduler has read it

		f.submit(ctx, gang("new", queue, 1))
		f.expectNotEnqueued(ctx, "new", "InsufficientScalarQuota", insufficient(queue, f.class, 1, 7, 2))
		Expect(f.phase(ctx, "running", corev1.PodRunning)).To(Equal(6))

		f.deleteJob(ctx, "running")
		f.expectRunning(ctx, "new", 1)
	})

	It("applies to pods that request only claims, which the backfill action places", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		devices := f.watchDevices()
		f.submit(ctx, gang("fill", queue, 3).startingWith(1).withoutRequests())
		f.expectRunning(ctx, "fill", 2)
		f.expectPodWarnings(ctx, "fill", 1, "InsufficientScalarQuota", insufficient(queue, f.class, 1, 3, 2))
		setQuota(ctx, queue, limit(f.class, 3))
		f.expectRunning(ctx, "fill", 3)
		Eventually(devices.most).WithContext(ctx).Should(Equal(3))
	})

	It("names a claim template that does not exist, and admits the job once it does", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("early", queue, 1).fromTemplate("late"))
		f.expectNotEnqueued(ctx, "early", "GetTaskRequestResourceFailed", "task worker: ResourceClaimTemplate "+f.namespace+"/late does not exist: create it or correct the name")
		f.submit(ctx, gang("bystander", queue, 1))
		f.expectRunning(ctx, "bystander", 1)
		f.template(ctx, "late", exactly(f.class, 1))
		f.expectRunning(ctx, "early", 1)
	})

	It("is released by a gang that was never bound", func(ctx context.Context) {
		// Only half of the gang fits: the scheduler allocates devices in memory and then discards the allocation.
		queue := f.queue(ctx, "team", "root", limit(f.class, 24))
		f.submit(ctx, gang("holder", queue, 12))
		f.expectRunning(ctx, "holder", 12)
		f.submit(ctx, gang("half", queue, 8))
		Eventually(func() int { return f.phase(ctx, "half", corev1.PodPending) }).WithContext(ctx).Should(Equal(8))
		f.submit(ctx, gang("small", queue, 4))
		f.expectRunning(ctx, "small", 4)
		f.deleteJob(ctx, "half")
		f.deleteJob(ctx, "holder")
		f.submit(ctx, gang("large", queue, 12))
		f.expectRunning(ctx, "large", 12)
	})
})
