// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reclaimScenarios are about queues that reclaim what they deserve.
var reclaimScenarios = []scenario{
	{
		name: "a queue takes back what another has borrowed in another member, and the victim comes again",
		run: func(ctx context.Context, f *fixture) {
			ours, theirs := f.oursAndTheirs(ctx, "4")
			f.volcanoJob(ctx, workload{name: "kept", queue: theirs, pods: 2, in: east})
			f.expectRunning(ctx, "kept", 2)
			f.nextSecond(ctx, volcanoJobs, "kept")
			f.volcanoJob(ctx, workload{name: "borrower", queue: theirs, pods: 2, in: west})
			f.expectRunning(ctx, "borrower", 2)
			f.volcanoJob(ctx, workload{name: "ours", queue: ours, pods: 2, in: east})
			f.expectRunningIn(ctx, east, "ours", 2)
			f.expectNotified(ctx, volcanoJobs, "borrower", "Reclaimed", ours)
			f.expectGone(ctx, "borrower")
			f.expectRunningIn(ctx, east, "kept", 2)
			f.finish(ctx, "ours")
			f.expectRunningIn(ctx, west, "borrower", 2)
			f.expectReleased(ctx, "kept", "borrower", "ours", "borrower")
		},
	},
	{
		name: "what clusters report leaves no room in a binding, and it is taken back all the same",
		run: func(ctx context.Context, f *fixture) {
			ours, theirs := f.oursAndTheirs(ctx, "4")
			f.volcanoJob(ctx, workload{name: "kept", queue: theirs, pods: 2})
			f.expectRunning(ctx, "kept", 2)
			f.nextSecond(ctx, volcanoJobs, "kept")
			f.volcanoJob(ctx, workload{name: "verbose", queue: theirs, pods: 2})
			f.expectRunning(ctx, "verbose", 2)
			f.fillStatus(ctx, "verbose-job")
			f.volcanoJob(ctx, workload{name: "ours", queue: ours, pods: 2})
			f.expectRunning(ctx, "ours", 2)
			f.expectNotified(ctx, volcanoJobs, "verbose", "Reclaimed", ours)
		},
	},
	{
		name: "of what can be taken back, the least is taken, and each workload whole",
		run: func(ctx context.Context, f *fixture) {
			ours, theirs := f.oursAndTheirs(ctx, "6")
			f.volcanoJob(ctx, workload{name: "large", queue: theirs, pods: 4})
			f.deployment(ctx, workload{name: "small", queue: theirs, pods: 2})
			f.expectRunning(ctx, "large", 4)
			f.expectRunning(ctx, "small", 2)
			f.volcanoJob(ctx, workload{name: "ours", queue: ours, pods: 1})
			f.expectRunning(ctx, "ours", 1)
			f.expectGone(ctx, "small")
			f.Expect(f.allPods(ctx, "large")).To(HaveLen(4))
		},
	},
	{
		name: "a workload of lower priority is taken back first",
		run: func(ctx context.Context, f *fixture) {
			high := f.priorityClass(ctx, "high", 1000)
			ours, theirs := f.oursAndTheirs(ctx, "4")
			f.volcanoJob(ctx, workload{name: "low", queue: theirs, pods: 2})
			f.expectRunning(ctx, "low", 2)
			f.nextSecond(ctx, volcanoJobs, "low") // otherwise, the younger one would go
			f.volcanoJob(ctx, workload{name: "high", queue: theirs, pods: 2, priority: high})
			f.expectRunning(ctx, "high", 2)
			f.volcanoJob(ctx, workload{name: "ours", queue: ours, pods: 1})
			f.expectRunning(ctx, "ours", 1)
			f.expectGone(ctx, "low")
			f.Expect(f.allPods(ctx, "high")).To(HaveLen(2))
		},
	},
	{
		name: "a queue takes nothing beyond what it deserves, and nothing of what another deserves",
		run: func(ctx context.Context, f *fixture) {
			ours, theirs := f.oursAndTheirs(ctx, "4")
			f.volcanoJob(ctx, workload{name: "theirs", queue: theirs, pods: 2})
			f.volcanoJob(ctx, workload{name: "ours", queue: ours, pods: 2})
			f.expectRunning(ctx, "theirs", 2)
			f.expectRunning(ctx, "ours", 2)
			f.volcanoJob(ctx, workload{name: "more", queue: ours, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "more", "InsufficientCPUQuota", insufficient(f.name("org"), "cpu", 1, 5, 4))
			f.expectReleasedOnce(ctx, "theirs", "ours")
		},
	},
}

// fillStatus fills the status of a binding until nothing else fits into etcd.
func (f *fixture) fillStatus(ctx context.Context, name string) {
	GinkgoHelper()
	bindings := karmada.WorkV1alpha2().ResourceBindings(f.namespace)
	for fits, tooMuch := 1<<20, 2<<20; tooMuch-fits > 16; {
		half := (fits + tooMuch) / 2
		binding, err := bindings.Get(ctx, name, metav1.GetOptions{})
		f.Expect(err).NotTo(HaveOccurred())
		binding.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "full", AppliedMessage: strings.Repeat("-", half)}}
		switch _, err := bindings.UpdateStatus(ctx, binding, metav1.UpdateOptions{}); {
		case err == nil:
			fits = half
		case !apierrors.IsConflict(err):
			tooMuch = half
		}
	}
}

// oursAndTheirs creates two queues below the queue org. They share its capability, and each deserves half of it.
func (f *fixture) oursAndTheirs(ctx context.Context, capability string) (string, string) {
	GinkgoHelper()
	half := map[string]string{"4": "2", "6": "3"}[capability]
	org := f.queue(ctx, "org", "root", capable(cores(capability)))
	return f.queue(ctx, "ours", org, deserving(cores(half))), f.queue(ctx, "theirs", org, deserving(cores(half)))
}

// expectReleasedOnce checks that exactly these workloads have been released, once each, in any order.
func (f *fixture) expectReleasedOnce(ctx context.Context, workloads ...string) {
	GinkgoHelper()
	f.Expect(f.replay(ctx).order).To(ConsistOf(workloads))
}
