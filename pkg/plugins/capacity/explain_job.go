// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// explainJob explains a job: the checks that let it into its queue, and why its pods wait.
func (p *plugin) explainJob(job *api.JobInfo) *v1alpha1.Explanation {
	described := p.described()
	told := &v1alpha1.Explanation{Queue: string(job.Queue), State: explain.StateOfJob(job), Charged: described.Charged(job)}
	var checks explain.Checks
	if job.IsPending() {
		needs := p.checkJob(&checks, job)
		queue, found := p.snapshot.Ledger.Queue(string(job.Queue))
		if found {
			told.Asked, told.Standings = described.Amounts(needs), described.Standings(queue, needs)
		}
		checks.Add(explain.AdmittedCheck, p.notAdmitted(job))
	}
	if told.State != v1alpha1.Waiting {
		return told
	}
	told.Pods = p.explainPods(job)
	cause, task := p.cache.report.WhyJob(job.UID)
	if !job.IsPending() {
		checks.Add(explain.GangCheck, explain.Gang(job))
	}
	told.Eviction = p.explainEviction(job)
	if cause == nil && len(told.Pods) > 0 {
		told.Checks, told.Cause = checks.Made, &told.Pods[0].Cause
	} else {
		told.Checks, told.Cause = checks.End(cause)
	}
	if task == nil {
		task = anyOf(job.TaskStatusIndex[api.Pending])
	}
	told.Holders = explain.HoldersOfMissing(described, task, cause)
	told.Supplies = p.suppliesFor(job, task)
	return told
}

// checkJob makes the checks that let a job into its queue, and returns what the job needs at least.
func (p *plugin) checkJob(checks *explain.Checks, job *api.JobInfo) ledger.Amounts {
	info, found := p.session.Queues[job.Queue]
	if !found {
		checks.Add(explain.QueueCheck, refusals.QueueMissing{Queue: string(job.Queue)})
		return nil
	}
	queue, refusal := p.snapshot.Queue(info)
	if checks.Add(explain.QueueCheck, refusal); refusal != nil {
		return nil
	}
	ask := jobAsk{job: job, queue: queue}
	ask.needs, ask.uncounted = p.snapshot.Needs(job)
	for _, check := range jobChecks {
		var refusal report.Refusal
		if !checks.Failed() {
			refusal = check.refuse(p, ask)
		}
		checks.Add(check.name, refusal)
	}
	return ask.needs.Amounts
}

// explainPods says why the pods of a job wait. Pods with the same reason are told once.
func (p *plugin) explainPods(job *api.JobInfo) []v1alpha1.PodsAnswer {
	var pods explain.Pods
	for _, task := range sortedTasks(job.TaskStatusIndex[api.Pending]) {
		if cause := p.toldCause(job, task); cause != nil {
			pods.Add(task, *describe.Refusal(cause))
		} else {
			pods.Add(task, v1alpha1.Refusal{Message: explain.WhyPending(job, task)})
		}
	}
	return pods.Answers()
}

func sortedTasks(tasks map[api.TaskID]*api.TaskInfo) []*api.TaskInfo {
	sorted := make([]*api.TaskInfo, 0, len(tasks))
	for _, task := range tasks {
		sorted = append(sorted, task)
	}
	slices.SortFunc(sorted, func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

func anyOf(tasks map[api.TaskID]*api.TaskInfo) *api.TaskInfo {
	if sorted := sortedTasks(tasks); len(sorted) > 0 {
		return sorted[0]
	}
	return nil
}
