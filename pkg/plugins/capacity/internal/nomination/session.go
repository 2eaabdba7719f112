// SPDX-License-Identifier: Apache-2.0

// Package nomination keeps the room that evictions freed for a pod. The pod has a nominated node in the API server, so this survives a
// restart. In each session, before other pods are placed, a pod with a nominated node starts if it can. Otherwise, it is pipelined to
// that node.
package nomination

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/settings"
)

// Session keeps freed room in one session.
type Session struct {
	Volcano    *framework.Session
	Snapshot   *snapshot.Snapshot
	Placements *placement.Session
	Cache      *Cache
	Clock      clock.PassiveClock
	// Timeout is the time for which room is kept.
	Timeout time.Duration
	// Trial keeps pods from their nominated nodes while the action allocate tries a HyperNode that does not have these.
	Trial hypernodes.Trial

	// kept has the nodes where room is kept. It is nil until Keep has run.
	kept map[string]bool
	// searching counts the pods that try all nodes, because their nominated nodes are not free. turn has the jobs whose turn it is to do so, and
	// passed those that may not in this session.
	searching    int
	turn, passed map[string]bool
}

// Keep starts or pipelines the pods with evicted victims. It does so once per session.
func (s *Session) Keep() {
	if s.kept != nil {
		return
	}
	s.kept = map[string]bool{}
	s.begin()
	defer s.end()
	var waiting []*gang
	inRounds(s.nominatedJobs(), func(job *api.JobInfo) bool {
		g := &gang{Session: s, job: job}
		if !g.pipeline() {
			return false
		}
		waiting = append(waiting, g)
		return true
	})
	for len(waiting) > 0 {
		together := waiting[0].sharers(waiting)
		start(together)
		waiting = slices.DeleteFunc(waiting, func(g *gang) bool { return slices.Contains(together, g) })
	}
}

// begin decides which jobs may try all nodes because it is their turn, and end remembers those that might not.
func (s *Session) begin() {
	s.turn, s.passed = map[string]bool{}, map[string]bool{}
	s.Cache.waiting.Keep(func(job string) bool { return s.Cache.passed[job] })
	for _, job := range s.Cache.waiting.Take(s.maxSearching() / 2 / maxSearched) {
		s.turn[job] = true
	}
}

func (s *Session) end() { s.Cache.passed = s.passed }

// Nodes returns the names of the nodes where room is kept.
func (s *Session) Nodes() iter.Seq[string] { return maps.Keys(s.kept) }

// nominatedJobs returns the jobs with nominated pods, oldest first. Jobs for which this process has evicted victims come before jobs whose
// nominations only the API server has: these may be from another writer.
func (s *Session) nominatedJobs() []*api.JobInfo {
	known := s.Cache
	known.forget(s.Volcano.Jobs, s.Clock.Now())
	var jobs []*api.JobInfo
	for _, job := range s.Volcano.Jobs {
		if job.IsPending() || job.PodGroup == nil || len(s.nominated(job)) == 0 || !s.Placements.EvictsTogether(job) {
			continue
		}
		for _, task := range s.nominated(job) {
			known.expire(job, task, known.nodeOf(task.Pod), s.Clock.Now(), s.Timeout)
		}
		jobs = append(jobs, job)
	}
	slices.SortFunc(jobs, func(a, b *api.JobInfo) int {
		return cmp.Or(-cmp.Compare(known.evictedFor(a), known.evictedFor(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	return jobs
}

// nominated returns the waiting pods of a job with a nominated node, in the order in which they are given nodes.
func (s *Session) nominated(job *api.JobInfo) []*api.TaskInfo {
	var tasks []*api.TaskInfo
	for _, task := range job.TaskStatusIndex[api.Pending] {
		node := s.Cache.nodeOf(task.Pod)
		if node != "" && !task.SchGated && !s.Cache.HasFailed(job, node) {
			tasks = append(tasks, task)
		}
	}
	sort.Slice(tasks, func(i, j int) bool { return s.Volcano.TaskOrderFn(tasks[i], tasks[j]) })
	return tasks
}

// Nominate keeps the room of pods with evicted victims, in this session and the following sessions. The pods are pipelined to their nodes.
func (s *Session) Nominate(job *api.JobInfo, pods []*api.TaskInfo) {
	s.keep(job, pods)
	for _, task := range pods {
		s.Cache.nodes[task.Pod.UID] = task.NodeName
	}
}

// Await keeps room, in this session, for pods that wait for leaving pods, although no pod was evicted for them. In later sessions,
// nothing is kept for them: the first pod gets the room.
func (s *Session) Await(job *api.JobInfo, pods []*api.TaskInfo) {
	s.keep(job, pods)
	for _, task := range pods {
		task.EvictionOccurred = false // otherwise, Volcano writes the nominated node
		s.Cache.expire(job, task, task.NodeName, s.Clock.Now(), s.Timeout)
	}
}

// keep keeps the nodes to which pods are pipelined. It keeps nothing, and returns false, if the pods of the job cannot be together there.
func (s *Session) keep(job *api.JobInfo, pods []*api.TaskInfo) bool {
	if !hypernodes.Known(s.Volcano, job) || !hypernodes.Settle(s.Volcano, job, pods) {
		return false
	}
	for _, task := range pods {
		s.kept[task.NodeName] = true
	}
	return true
}

// Refuse returns an error if a node would lack resources for the pods with evicted victims, or is outside the HyperNode in which the job is being placed.
func (s *Session) Refuse(task *api.TaskInfo, node *api.NodeInfo) error {
	if s.Trial.Excludes(task, node.Name) {
		return fmt.Errorf("node %s is outside the HyperNode in which the job is being placed", node.Name)
	}
	if s.HasRoom(node, task.InitResreq) {
		return nil
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.Unschedulable, Reason: "what is free is kept for pods that others were evicted for", Plugin: settings.Name})
}

// HasRoom reports whether a node would still have the room that is kept there if other pods got these resources. Without kept room, any amount is fine.
func (s *Session) HasRoom(node *api.NodeInfo, others *api.Resource) bool {
	return !s.kept[node.Name] || others.LessEqual(node.FutureIdle(), api.Zero)
}
