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
	// session counts the sessions.
	session int
	// nodes has the nominated node of a pod until its status, as the scheduler's cache knows it, has it.
	nodes map[types.UID]string
	// since has since when each pod has waited for the node that it waits for.
	since map[types.UID]nomination
	// promises has since when each pod has been promised its node by evictions.
	promises map[types.UID]promise
	// failed has the nodes where a job did not start in time, and when that was found out, by PodGroup. Nothing is kept for it
	// there for a while.
	failed map[types.UID]map[string]time.Time
}

func newReservations() reservations {
	return reservations{nodes: map[types.UID]string{}, since: map[types.UID]nomination{}, promises: map[types.UID]promise{}, failed: map[types.UID]map[string]time.Time{}}
}

// nomination is that a pod waits for a node.
type nomination struct {
	node string
	at   time.Time
	// session is the last one in which the pod waited.
	session int
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

// promised returns 1 if this process has evicted others for a pod of a job that still waits, and 0 otherwise.
func (r *reservations) promised(job *api.JobInfo) int {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if _, promised := r.promises[task.Pod.UID]; promised {
			return 1
		}
	}
	return 0
}

// expire gives up a node for which a pod has waited for longer than the limit. The job of the pod does not get anything there any more.
func (r *reservations) expire(job *api.JobInfo, task *api.TaskInfo, node string, now time.Time, limit time.Duration) {
	since := r.since[task.Pod.UID]
	switch {
	case since.node != node || since.session < r.session-1:
		since = nomination{node: node, at: now}
	case now.Sub(since.at) > limit:
		r.fail(job, node, now)
		delete(r.since, task.Pod.UID)
		return
	}
	since.session = r.session
	r.since[task.Pod.UID] = since
}

// fail notes that a job did not start in time on a node.
func (r *reservations) fail(job *api.JobInfo, node string, now time.Time) {
	if r.failed[job.PodGroup.UID] == nil {
		r.failed[job.PodGroup.UID] = map[string]time.Time{}
	}
	r.failed[job.PodGroup.UID][node] = now
}

// failedFor is for how long a job gets nothing on a node where it did not start in time.
const failedFor = 30 * time.Minute

// hasFailed reports whether a job did not start in time on a node although that was kept for it.
func (r *reservations) hasFailed(job *api.JobInfo, node string) bool {
	_, failed := r.failed[job.PodGroup.UID][node]
	return failed
}

// forget begins a session. It drops the jobs that are gone or have no pod any more that waits, and the pods that do not wait any more.
func (r *reservations) forget(jobs map[api.JobID]*api.JobInfo, now time.Time) {
	r.session++
	if len(r.nodes) == 0 && len(r.promises) == 0 && len(r.since) == 0 && len(r.failed) == 0 {
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
	keepOnly(r.since, pods)
	keepOnly(r.failed, groups)
	for _, nodes := range r.failed {
		maps.DeleteFunc(nodes, func(_ string, at time.Time) bool { return now.Sub(at) > failedFor })
	}
}

func keepOnly[V any](all map[types.UID]V, keep map[types.UID]bool) {
	maps.DeleteFunc(all, func(uid types.UID, _ V) bool { return !keep[uid] })
}
