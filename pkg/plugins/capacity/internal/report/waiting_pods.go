// SPDX-License-Identifier: Apache-2.0

package report

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/metric"
)

var waitingPods = gaugeVector(metric.QueueWaitingPods)

// waitingKey has the label values of the metric.
type waitingKey struct {
	queue  api.QueueID
	reason string
}

// countWaiting updates the metric where the number of refused pods has changed in this session.
func (r *Reporter) countWaiting(jobs map[api.JobID]*api.JobInfo) {
	counts := map[waitingKey]int{}
	for id, refused := range r.pods {
		if _, jobRefused := r.jobs[refused.task.Job]; !jobRefused && Waits(jobs, refused.task.Job, id) {
			counts[waitingKey{jobs[refused.task.Job].Queue, waitingReason(refused.refusal)}]++
		}
	}
	for id, refusal := range r.jobs {
		if job, found := jobs[id]; found && job.IsPending() {
			counts[waitingKey{job.Queue, waitingReason(refusal)}] += podsThatWait(job)
		}
	}
	for key, n := range counts {
		if last, found := r.waitingPods[key]; !found || last != n {
			waitingPods.WithLabelValues(string(key.queue), key.reason).Set(float64(n))
		}
	}
	for key := range r.waitingPods {
		if _, found := counts[key]; !found {
			waitingPods.DeleteLabelValues(string(key.queue), key.reason)
		}
	}
	r.waitingPods = counts
}

// podsThatWait returns the number of waiting pods of a job that is not admitted to its queue. Most kinds of jobs create their
// pods only after admission.
func podsThatWait(job *api.JobInfo) int {
	pods := 0
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated {
			pods++
		}
	}
	return max(pods, int(job.MinAvailable)-int(count(job, api.Succeeded)), 1)
}
