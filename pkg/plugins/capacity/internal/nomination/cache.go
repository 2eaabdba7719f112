// SPDX-License-Identifier: Apache-2.0

package nomination

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra/turns"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Cache remembers nominations across sessions. The API server also has the nominated nodes, so they survive a restart. After a
// restart, the time limit starts again.
type Cache struct {
	// session counts the sessions.
	session int
	// nodes has the nominated nodes of pods until the pods' status in the scheduler's cache has them.
	nodes map[types.UID]string
	// since has the current wait of each pod.
	since map[types.UID]wait
	// evictions has the pods for which victims were evicted, with the first eviction.
	evictions map[types.UID]evicted
	// failed has, by PodGroup, the nodes where a job did not start in time, and when this was found out. For a while, nothing
	// is kept for the job there.
	failed map[types.UID]map[string]time.Time
	// passed has the jobs that might not try all nodes in the last session. They wait for their turn.
	passed  map[string]bool
	waiting turns.Line
}

// NewCache returns a cache without nominations.
func NewCache() *Cache {
	return &Cache{nodes: map[types.UID]string{}, since: map[types.UID]wait{}, evictions: map[types.UID]evicted{}, failed: map[types.UID]map[string]time.Time{}}
}

// wait says that a pod waits for a node.
type wait struct {
	node string
	at   time.Time
	// session is the last session in which the pod waited.
	session int
}

// evicted says that victims were evicted for a pod.
type evicted struct {
	action report.Action
	at     time.Time
}

// Evicted notes that victims are evicted for a pod. Only the first call for a pod counts.
func (c *Cache) Evicted(pod types.UID, action report.Action, now time.Time) {
	if _, before := c.evictions[pod]; !before {
		c.evictions[pod] = evicted{action, now}
	}
}

// Started forgets the eviction for a pod. It returns the action and the time, and false if there was no eviction.
func (c *Cache) Started(pod types.UID) (action report.Action, at time.Time, found bool) {
	known, found := c.evictions[pod]
	delete(c.evictions, pod)
	return known.action, known.at, found
}

// nodeOf returns the nominated node of a pod. It is empty if there is none.
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

// evictedFor returns 1 if this process has evicted victims for a waiting pod of a job. Otherwise, it returns 0.
func (c *Cache) evictedFor(job *api.JobInfo) int {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if _, evicted := c.evictions[task.Pod.UID]; evicted {
			return 1
		}
	}
	return 0
}

// expire gives up a node that a pod has waited for longer than the limit. The pod's job then gets nothing on this node.
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

// failedFor is the time for which a job gets nothing on a node where it did not start in time.
const failedFor = 30 * time.Minute

// HasFailed reports whether a job did not start in time on a node that was kept for it.
func (c *Cache) HasFailed(job *api.JobInfo, node string) bool {
	_, failed := c.failed[job.PodGroup.UID][node]
	return failed
}

// Failures returns the number of nodes where a job did not start in time.
func (c *Cache) Failures(job *api.JobInfo) int { return len(c.failed[job.PodGroup.UID]) }

// forget begins a session. It drops jobs that are gone or have no waiting pods, and pods that no longer wait.
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
