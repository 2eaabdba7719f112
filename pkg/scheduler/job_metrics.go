// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// jobMetrics has the jobs of the last session. Volcano's cache deletes the metrics of a job with the job. A session that still has the job writes them
// again, and nothing deletes them after that: users who create and delete jobs all the time would fill the memory.
type jobMetrics map[api.JobID]metricLabels

type metricLabels struct{ name, queue, namespace string }

func (l metricLabels) delete() { metrics.DeleteJobMetrics(l.name, l.queue, l.namespace) }

// keep deletes the metrics of jobs that the next session does not have any more.
func (m jobMetrics) keep(jobs map[api.JobID]*api.JobInfo) {
	for id, job := range jobs {
		is := metricLabels{job.Name, string(job.Queue), job.Namespace}
		if was, known := m[id]; known && was != is {
			was.delete()
		}
		m[id] = is
	}
	if len(m) == len(jobs) {
		return
	}
	maps.DeleteFunc(m, func(id api.JobID, was metricLabels) bool {
		if jobs[id] != nil {
			return false
		}
		was.delete()
		return true
	})
}
