// SPDX-License-Identifier: Apache-2.0

package nomination

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Cache remembers the nominations from one session to the next. The API server has the nominated nodes, too, so that they survive a
// restart. The time limit begins anew then.
type Cache struct {
	// session counts the sessions.
	session int
	// nodes has the nominated node of a pod until its status, as the scheduler's cache knows it, has it.
	nodes map[types.UID]string
	// since has since when each pod has waited for the node that it waits for.
	since map[types.UID]wait
	// evictions has for which pods others were evicted, and since when.
	evictions map[types.UID]evicted
	// failed has the nodes where a job did not start in time, and when that was found out, by PodGroup. Nothing is kept for it
	// there for a while.
	failed map[types.UID]map[string]time.Time
}

// NewCache returns a cache without nominations.
func NewCache() *Cache {
	return &Cache{nodes: map[types.UID]string{}, since: map[types.UID]wait{}, evictions: map[types.UID]evicted{}, failed: map[types.UID]map[string]time.Time{}}
}

// wait is that a pod waits for a node.
type wait struct {
	node string
	at   time.Time
	// session is the last one in which the pod waited.
	session int
}

// evicted is that others were evicted for a pod.
type evicted struct {
	action report.Action
	at     time.Time
}

// Evicted notes that others are evicted for a pod, unless that happened before.
func (c *Cache) Evicted(pod types.UID, action report.Action, now time.Time) {
	if _, before := c.evictions[pod]; !before {
		c.evictions[pod] = evicted{action, now}
	}
}

// Started forgets that others were evicted for a pod, and returns by which action, and when. It is false if nobody was.
func (c *Cache) Started(pod types.UID) (action report.Action, at time.Time, found bool) {
	known, found := c.evictions[pod]
	delete(c.evictions, pod)
	return known.action, known.at, found
}

// nodeOf returns the nominated node of a pod, empty if it has none.
func (c *Cache) nodeOf(pod *corev1.Pod) string {
	node, noted := c.nodes[pod.UID]
	if !noted {
		return pod.Status.NominatedNodeName
	}
	if node == pod.Status.NominatedNodeName {
		delete(c.nodes, pod.UID)
	}
	return node
}

// evictedFor returns 1 if this process has evicted others for a pod of a job that still waits, and 0 otherwise.
func (c *Cache) evictedFor(job *api.JobInfo) int {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if _, evicted := c.evictions[task.Pod.UID]; evicted {
			return 1
		}
	}
	return 0
}

// expire gives up a node for which a pod has waited for longer than the limit. The job of the pod does not get anything there any more.
func (c *Cache) expire(job *api.JobInfo, task *api.TaskInfo, node string, now time.Time, limit time.Duration) {
	since := c.since[task.Pod.UID]
	switch {
	case since.node != node || since.session < c.session-1:
		since = wait{node: node, at: now}
	case now.Sub(since.at) > limit:
		c.fail(job, node, now)
		delete(c.since, task.Pod.UID)
		return
	}
	since.session = c.session
	c.since[task.Pod.UID] = since
}

// fail notes that a job did not start in time on a node.
func (c *Cache) fail(job *api.JobInfo, node string, now time.Time) {
	if c.failed[job.PodGroup.UID] == nil {
		c.failed[job.PodGroup.UID] = map[string]time.Time{}
	}
	c.failed[job.PodGroup.UID][node] = now
}

// failedFor is for how long a job gets nothing on a node where it did not start in time.
const failedFor = 30 * time.Minute

// HasFailed reports whether a job did not start in time on a node although that was kept for it.
func (c *Cache) HasFailed(job *api.JobInfo, node string) bool {
	_, failed := c.failed[job.PodGroup.UID][node]
	return failed
}

// Failures returns on how many nodes a job did not start in time.
func (c *Cache) Failures(job *api.JobInfo) int { return len(c.failed[job.PodGroup.UID]) }

// forget begins a session. It drops the jobs that are gone or have no pod any more that waits, and the pods that do not wait any more.
func (c *Cache) forget(jobs map[api.JobID]*api.JobInfo, now time.Time) {
	c.session++
	if len(c.nodes) == 0 && len(c.evictions) == 0 && len(c.since) == 0 && len(c.failed) == 0 {
		return
	}
	groups, pods := map[types.UID]bool{}, map[types.UID]bool{}
	for _, job := range jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			groups[job.PodGroup.UID], pods[task.Pod.UID] = true, true
		}
	}
	keepOnly(c.nodes, pods)
	keepOnly(c.evictions, pods)
	keepOnly(c.since, pods)
	keepOnly(c.failed, groups)
	for _, nodes := range c.failed {
		maps.DeleteFunc(nodes, func(_ string, at time.Time) bool { return now.Sub(at) > failedFor })
	}
}

func keepOnly[V any](all map[types.UID]V, keep map[types.UID]bool) {
	maps.DeleteFunc(all, func(uid types.UID, _ V) bool { return !keep[uid] })
}
