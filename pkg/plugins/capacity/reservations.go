// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// reservations remembers, from one session to the next, for which pods something is kept. The API server has the nominated nodes,
// too, so that they survive a restart. The time limit begins anew then.
type reservations struct {
	// nodes has the nominated node of a pod until its status, as the scheduler's cache knows it, has it.
	nodes map[types.UID]string
	// since has when something was first kept for a job, by PodGroup.
	since map[types.UID]time.Time
	// promises has since when each pod has been promised its node by evictions.
	promises map[types.UID]promise
	// failed has the nodes where a job did not start in time, by PodGroup. Nothing is kept for it there any more.
	failed map[types.UID]map[string]bool
}

func newReservations() reservations {
	return reservations{nodes: map[types.UID]string{}, since: map[types.UID]time.Time{}, promises: map[types.UID]promise{}, failed: map[types.UID]map[string]bool{}}
}

// promise is that a pod starts when its victims are gone.
type promise struct {
	action report.Action
	at     time.Time
}

// promise notes that others are evicted for a pod, unless that happened before.
func (r *reservations) promise(pod types.UID, action report.Action, now time.Time) {
	if _, before := r.promises[pod]; !before {
		r.promises[pod] = promise{action, now}
	}
}

// nodeOf returns the nominated node of a pod, empty if it has none.
func (r *reservations) nodeOf(pod *corev1.Pod) string {
	node, noted := r.nodes[pod.UID]
	if !noted {
		return pod.Status.NominatedNodeName
	}
	if node == pod.Status.NominatedNodeName {
		delete(r.nodes, pod.UID)
	}
	return node
}

// expire gives up what has been kept for a job for longer than the limit. The job does not get anything on these nodes any more.
func (r *reservations) expire(job *api.JobInfo, nominated []*api.TaskInfo, now time.Time, limit time.Duration) {
	since, known := r.since[job.PodGroup.UID]
	if !known {
		r.since[job.PodGroup.UID] = now
		return
	}
	if now.Sub(since) <= limit {
		return
	}
	if r.failed[job.PodGroup.UID] == nil {
		r.failed[job.PodGroup.UID] = map[string]bool{}
	}
	for _, task := range nominated {
		r.failed[job.PodGroup.UID][r.nodeOf(task.Pod)] = true
	}
	delete(r.since, job.PodGroup.UID)
}

// hasFailed reports whether a job did not start in time on a node although that was kept for it.
func (r *reservations) hasFailed(job *api.JobInfo, node string) bool {
	return r.failed[job.PodGroup.UID][node]
}

// forget drops the jobs that are gone or have no pod any more that waits, and the pods that do not wait any more.
func (r *reservations) forget(jobs map[api.JobID]*api.JobInfo) {
	if len(r.nodes) == 0 && len(r.promises) == 0 && len(r.failed) == 0 {
		return
	}
	groups, pods := map[types.UID]bool{}, map[types.UID]bool{}
	for _, job := range jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			groups[job.PodGroup.UID], pods[task.Pod.UID] = true, true
		}
	}
	keepOnly(r.nodes, pods)
	keepOnly(r.promises, pods)
	keepOnly(r.failed, groups)
}

func keepOnly[V any](all map[types.UID]V, keep map[types.UID]bool) {
	maps.DeleteFunc(all, func(uid types.UID, _ V) bool { return !keep[uid] })
}
