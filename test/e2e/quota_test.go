package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("A queue's count of devices", func() {
	var s *scene

	BeforeEach(func(ctx context.Context) { s = newScene(ctx) })

	It("lets a second job wait until the first gives its devices back", func(ctx context.Context) {
		queue := s.queue(ctx, "team", s.queue(ctx, "ml", "root", nil), limit(s.class, 8))
		devices := s.watchDevices()

		s.submit(ctx, gang("first", queue, 6))
		s.expectRunning(ctx, "first", 6)
		s.submit(ctx, gang("second", queue, 4))
		s.expectHeld(ctx, "second", "InsufficientScalarQuota", insufficient(queue, s.class, 4, 10, 8))

		s.deleteJob(ctx, "first")
		s.expectRunning(ctx, "second", 4)
		Expect(devices.most()).To(BeNumerically("<=", 8))
	})

	It("gives devices back when pods succeed", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 2))
		devices := s.watchDevices()
		s.submit(ctx, gang("short", queue, 2).runningFor(time.Second))
		s.submit(ctx, gang("next", queue, 2).runningFor(time.Second))
		s.expectSucceeded(ctx, "short", 2)
		s.expectSucceeded(ctx, "next", 2)
		Expect(devices.most()).To(Equal(2))
	})

	It("hands out the last device and not one more", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 3))
		s.submit(ctx, gang("fits", queue, 3))
		s.expectRunning(ctx, "fits", 3)
		s.submit(ctx, gang("excess", queue, 1))
		s.expectHeld(ctx, "excess", "InsufficientScalarQuota", insufficient(queue, s.class, 1, 4, 3))
	})

	It("counts a job that may start with some of its pods", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 5))
		devices := s.watchDevices()
		s.submit(ctx, gang("elastic", queue, 8).startingWith(2))
		s.expectRunning(ctx, "elastic", 5)
		s.expectTold(ctx, "elastic", 3, "InsufficientScalarQuota", insufficient(queue, s.class, 1, 6, 5))
		Expect(devices.most()).To(Equal(5))
	})

	It("holds for claims that pods name", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 5))
		s.claim(ctx, "four", exactly(s.class, 4))
		s.claim(ctx, "two", exactly(s.class, 2))
		s.submit(ctx, gang("holder", queue, 1).usingClaim("four"))
		s.expectRunning(ctx, "holder", 1)
		s.submit(ctx, gang("waiter", queue, 1).usingClaim("two"))
		s.expectHeld(ctx, "waiter", "InsufficientScalarQuota", insufficient(queue, s.class, 2, 6, 5))
		s.deleteJob(ctx, "holder")
		s.expectRunning(ctx, "waiter", 1)
	})

	It("counts a claim that pods share once", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 4))
		s.claim(ctx, "shared", exactly(s.class, 4))
		s.submit(ctx, gang("sharers", queue, 3).startingWith(1).usingClaim("shared"))
		s.expectRunning(ctx, "sharers", 3)
		s.submit(ctx, gang("other", queue, 1))
		s.expectHeld(ctx, "other", "InsufficientScalarQuota", insufficient(queue, s.class, 1, 5, 4))
	})

	It("adds up in the parent, which refuses what its children would allow", func(ctx context.Context) {
		parent := s.queue(ctx, "ml", "root", limit(s.class, 6))
		left := s.queue(ctx, "left", parent, limit(s.class, 4))
		right := s.queue(ctx, "right", parent, limit(s.class, 4))
		devices := s.watchDevices()

		s.submit(ctx, gang("left", left, 4))
		s.expectRunning(ctx, "left", 4)
		s.submit(ctx, gang("right", right, 3))
		s.expectHeld(ctx, "right", "InsufficientScalarQuota", insufficient(parent, s.class, 3, 7, 6))

		s.deleteJob(ctx, "left")
		s.expectRunning(ctx, "right", 3)
		Expect(devices.most()).To(BeNumerically("<=", 6))
	})

	It("does not exist for a queue without dra", func(ctx context.Context) {
		s.submit(ctx, gang("free", s.queue(ctx, "team", "root", nil), 12))
		s.expectRunning(ctx, "free", 12)
	})

	It("does not exist for a class that is not listed", func(ctx context.Context) {
		s.submit(ctx, gang("free", s.queue(ctx, "team", "root", limit("another-class", 0)), 12))
		s.expectRunning(ctx, "free", 12)
	})

	It("forbids the class when it is zero", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 0))
		s.submit(ctx, gang("never", queue, 1))
		s.expectHeld(ctx, "never", "InsufficientScalarQuota", insufficient(queue, s.class, 1, 1, 0))
		setQuota(ctx, queue, limit(s.class, 1))
		s.expectRunning(ctx, "never", 1)
	})

	It("evicts nobody and starts nobody when it is lowered below what is in use", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 8))
		s.submit(ctx, gang("running", queue, 6))
		s.expectRunning(ctx, "running", 6)
		setQuota(ctx, queue, limit(s.class, 2))

		s.submit(ctx, gang("new", queue, 1))
		s.expectHeld(ctx, "new", "InsufficientScalarQuota", insufficient(queue, s.class, 1, 7, 2))
		Expect(s.phase(ctx, "running", corev1.PodRunning)).To(Equal(6))

		s.deleteJob(ctx, "running")
		s.expectRunning(ctx, "new", 1)
	})

	It("holds for pods that request nothing but claims, which backfill places", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 2))
		devices := s.watchDevices()
		s.submit(ctx, gang("fill", queue, 3).startingWith(1).withoutRequests())
		s.expectRunning(ctx, "fill", 2)
		s.expectTold(ctx, "fill", 1, "InsufficientScalarQuota", insufficient(queue, s.class, 1, 3, 2))
		setQuota(ctx, queue, limit(s.class, 3))
		s.expectRunning(ctx, "fill", 3)
		Expect(devices.most()).To(Equal(3))
	})

	It("names a claim template that does not exist, and runs the pod when it does", func(ctx context.Context) {
		queue := s.queue(ctx, "team", "root", limit(s.class, 2))
		s.submit(ctx, gang("early", queue, 1).fromTemplate("late"))
		s.expectHeld(ctx, "early", "GetTaskRequestResourceFailed", "task worker: ResourceClaimTemplate "+s.namespace+"/late does not exist: create it or correct the name")
		s.submit(ctx, gang("bystander", queue, 1))
		s.expectRunning(ctx, "bystander", 1)
		s.template(ctx, "late", exactly(s.class, 1))
		s.expectRunning(ctx, "early", 1)
	})

	It("frees the devices that a gang only hoped for", func(ctx context.Context) {
		// The gang half fits: the scheduler reserves devices for it and never binds it.
		queue := s.queue(ctx, "team", "root", limit(s.class, 24))
		s.submit(ctx, gang("holder", queue, 12))
		s.expectRunning(ctx, "holder", 12)
		s.submit(ctx, gang("half", queue, 8))
		Eventually(func() int { return s.phase(ctx, "half", corev1.PodPending) }).WithContext(ctx).Should(Equal(8))
		s.submit(ctx, gang("small", queue, 4))
		s.expectRunning(ctx, "small", 4)
		s.deleteJob(ctx, "half")
		s.deleteJob(ctx, "holder")
		s.submit(ctx, gang("large", queue, 12))
		s.expectRunning(ctx, "large", 12)
	})
})
