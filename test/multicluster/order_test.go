// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// briefly is the run time of pods that end by themselves.
const briefly = 100 * time.Millisecond

// orderScenarios are about the order of workloads.
var orderScenarios = []scenario{
	{
		name: "workloads are released by priority, and of one priority the oldest first",
		run: func(ctx context.Context, f *fixture) {
			low, high := f.priorityClass(ctx, "low", 1), f.priorityClass(ctx, "high", 1000)
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 2})
			f.expectRunning(ctx, "filler", 2)
			for _, name := range []string{"low-z", "low-a"} { // not in alphabetical order
				f.volcanoJob(ctx, workload{name: name, queue: team, pods: 2, priority: low, runFor: briefly})
				f.nextSecond(ctx, volcanoJobs, name)
			}
			f.volcanoJob(ctx, workload{name: "without", queue: team, pods: 2, runFor: briefly})
			f.deployment(ctx, workload{name: "high", queue: team, pods: 2, priority: high})
			for _, name := range []string{"low-z", "low-a", "without"} {
				f.existing(ctx, volcanoJobs, name)
			}
			f.expectHeld(ctx, deployments, "high", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "high", 2)
			f.scale(ctx, "high", 0)
			f.expectReleased(ctx, "filler", "high", "low-z", "low-a", "without")
		},
	},
	{
		name: "a large job is not starved by small ones that come later",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 3})
			f.expectRunning(ctx, "filler", 3)
			f.volcanoJob(ctx, workload{name: "large", queue: team, pods: 4})
			f.expectHeld(ctx, volcanoJobs, "large", "InsufficientCPUQuota", insufficient(team, "cpu", 4, 7, 4))
			f.nextSecond(ctx, volcanoJobs, "large")
			f.volcanoJob(ctx, workload{name: "small", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "small", "WaitsBehind", "large", team)
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "large", 4)
			f.expectNowhere(ctx, volcanoJobs, "small")
			f.finish(ctx, "large")
			f.expectRunning(ctx, "small", 1)
			f.expectReleased(ctx, "filler", "large", "small")
		},
	},
	{
		name: "a job that asks for nothing that others wait for passes them",
		run: func(ctx context.Context, f *fixture) {
			limits := cores("1")
			limits[corev1.ResourceMemory] = resource.MustParse("1Gi")
			team := f.queue(ctx, "team", "root", capable(limits))
			f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 1})
			f.expectRunning(ctx, "filler", 1)
			f.volcanoJob(ctx, workload{name: "cpu", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "cpu", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 2, 1))
			f.nextSecond(ctx, volcanoJobs, "cpu")
			memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}
			f.volcanoJob(ctx, workload{name: "memory", queue: team, pods: 1, requests: memory})
			f.expectRunning(ctx, "memory", 1)
			f.expectNowhere(ctx, volcanoJobs, "cpu")
		},
	},
	{
		name: "of two queues that wait for their parent, the one of higher priority comes first",
		run: func(ctx context.Context, f *fixture) {
			org := f.queue(ctx, "org", "root", capable(cores("2")))
			modest, urgent := f.queue(ctx, "a-modest", org), f.queue(ctx, "b-urgent", org, ofPriority(10))
			f.volcanoJob(ctx, workload{name: "filler", queue: modest, pods: 2})
			f.expectRunning(ctx, "filler", 2)
			f.volcanoJob(ctx, workload{name: "older", queue: modest, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "older", "InsufficientCPUQuota", insufficient(org, "cpu", 2, 4, 2))
			f.nextSecond(ctx, volcanoJobs, "older")
			f.volcanoJob(ctx, workload{name: "younger", queue: urgent, pods: 2, runFor: briefly})
			f.existing(ctx, volcanoJobs, "younger")
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "older", 2)
			f.expectReleased(ctx, "filler", "younger", "older")
		},
	},
	{
		name: "of two queues of one priority, the one that uses less of what it deserves comes first",
		run: func(ctx context.Context, f *fixture) {
			org := f.queue(ctx, "org", "root", capable(cores("3")))
			much, little := f.queue(ctx, "a-much", org, deserving(cores("2"))), f.queue(ctx, "b-little", org, deserving(cores("2")))
			f.volcanoJob(ctx, workload{name: "much", queue: much, pods: 1})
			f.volcanoJob(ctx, workload{name: "filler", queue: much, pods: 2})
			f.expectRunning(ctx, "much", 1)
			f.expectRunning(ctx, "filler", 2)
			f.volcanoJob(ctx, workload{name: "older", queue: much, pods: 1, runFor: briefly})
			f.expectHeld(ctx, volcanoJobs, "older", "InsufficientCPUQuota", insufficient(org, "cpu", 1, 4, 3))
			f.nextSecond(ctx, volcanoJobs, "older")
			f.volcanoJob(ctx, workload{name: "younger", queue: little, pods: 2, runFor: briefly})
			f.existing(ctx, volcanoJobs, "younger")
			f.Expect(f.replay(ctx).order).To(ConsistOf("much", "filler"))
			f.finish(ctx, "filler")
			f.Eventually(func() []string { return f.replay(ctx).order }).WithContext(ctx).Should(HaveExactElements(
				BeElementOf("much", "filler"), BeElementOf("much", "filler"), Equal("younger"), Equal("older")))
		},
	},
}
