// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import "context"

// hierarchyScenarios are about queues below queues.
var hierarchyScenarios = []scenario{
	{
		name: "the capability of a parent holds over its children together",
		run: func(ctx context.Context, f *fixture) {
			org := f.queue(ctx, "org", "root", capable(cores("4")))
			left, right := f.queue(ctx, "left", org, capable(cores("4"))), f.queue(ctx, "right", org, capable(cores("4")))
			f.volcanoJob(ctx, workload{name: "left", queue: left, pods: 3, in: east})
			f.expectRunningIn(ctx, east, "left", 3)
			f.volcanoJob(ctx, workload{name: "right", queue: right, pods: 2, in: west})
			f.expectHeld(ctx, volcanoJobs, "right", "InsufficientCPUQuota", insufficient(org, "cpu", 2, 5, 4))
			f.finish(ctx, "left")
			f.expectRunningIn(ctx, west, "right", 2)
		},
	},
	{
		name: "every ancestor counts, and the queue that refuses is named",
		run: func(ctx context.Context, f *fixture) {
			company := f.queue(ctx, "company", "root", capable(cores("2")))
			org := f.queue(ctx, "org", company, capable(cores("5")))
			team := f.queue(ctx, "team", org)
			sibling := f.queue(ctx, "sibling", company)
			f.deployment(ctx, workload{name: "web", queue: sibling, pods: 1})
			f.expectRunning(ctx, "web", 1)
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "train", "InsufficientCPUQuota", insufficient(company, "cpu", 2, 3, 2))
			f.changeQueue(ctx, company, capable(cores("3")))
			f.expectRunning(ctx, "train", 2)
		},
	},
	{
		name: "a large job in one queue keeps its place against jobs of its siblings",
		run: func(ctx context.Context, f *fixture) {
			org := f.queue(ctx, "org", "root", capable(cores("4")))
			left, right := f.queue(ctx, "left", org), f.queue(ctx, "right", org)
			f.volcanoJob(ctx, workload{name: "filler", queue: right, pods: 3})
			f.expectRunning(ctx, "filler", 3)
			f.volcanoJob(ctx, workload{name: "large", queue: left, pods: 4})
			f.expectHeld(ctx, volcanoJobs, "large", "InsufficientCPUQuota", insufficient(org, "cpu", 4, 7, 4))
			f.volcanoJob(ctx, workload{name: "small", queue: right, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "small", "WaitsBehind", "large", org)
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "large", 4)
			f.expectReleased(ctx, "filler", "large")
		},
	},
}
