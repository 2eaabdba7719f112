// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// hopeless remembers for which jobs nobody can be evicted, so that the question is not asked again while nothing has changed.
type hopeless struct {
	seed    maphash.Seed
	answers map[question]answer
	// nodes has what decides of each node.
	nodes map[string]nodeState
	// catalog is the last that was seen, and edition counts them.
	catalog *dra.Catalog
	edition int
}

type question struct {
	rule     eviction.Rule
	podGroup types.UID
}

// answer is that there was no right set of victims for a job.
type answer struct {
	// state is the state of the cluster then.
	state uint64
	// at is when that was found out.
	at time.Time
	// cannot is what the queue of the job is told. It is nil if that is nothing.
	cannot *report.CannotReclaim
	// protected is how many pods of gangs stand in the way.
	protected int
}

const (
	// forgetAfter is when a question is asked again although nothing has changed that this plugin knows: other plugins may
	// decide by the time.
	forgetAfter = time.Minute
	// maxForgotten is for how many jobs that happens in one session.
	maxForgotten = 2
)

func newHopeless() hopeless {
	return hopeless{seed: maphash.MakeSeed(), answers: map[question]answer{}, nodes: map[string]nodeState{}}
}

// hash is the same for the same value in this process.
func hash[T comparable](h *hopeless, value T) uint64 { return maphash.Comparable(h.seed, value) }

// isHopeless reports whether nobody could be evicted for a job when it was last asked, and nothing has changed since.
func (p *plugin) isHopeless(rule eviction.Rule, job *api.JobInfo) bool {
	last, known := p.cache.hopeless.answers[question{rule, job.PodGroup.UID}]
	if !known || last.state != p.stateFor(job) || p.forgets(last) {
		return false
	}
	p.tellCannotReclaim(last.cannot)
	p.noteProtected(job, eviction.Obstacle{Gangs: last.protected})
	return true
}

// noteHopeless remembers that nobody can be evicted for a job.
func (p *plugin) noteHopeless(rule eviction.Rule, job *api.JobInfo) {
	now := answer{state: p.stateFor(job), at: p.cache.clock.Now()}
	if rule == eviction.Reclaim {
		cannot, found := p.cannotReclaim(job)
		p.noteProtected(job, found)
		now.cannot = told(p.cache.hopeless.answers[question{rule, job.PodGroup.UID}].cannot, cannot)
		now.protected = p.protected[job.UID]
	}
	p.cache.hopeless.answers[question{rule, job.PodGroup.UID}] = now
	p.tellCannotReclaim(now.cannot)
}

// forgets reports whether an answer is so old that the question is asked again.
func (p *plugin) forgets(last answer) bool {
	old := p.cache.clock.Since(last.at) > forgetAfter && p.forgotten < maxForgotten
	if old {
		p.forgotten++
	}
	return old
}

// told returns what the queue was told last if only what it holds has changed since, so that it is not told anew whenever a pod
// comes or goes.
func told(last, now *report.CannotReclaim) *report.CannotReclaim {
	if last == nil || now == nil {
		return now
	}
	same := *now
	same.Held, same.Gangs, same.Budgets = last.Held, last.Gangs, last.Budgets
	if same == *last {
		return last
	}
	return now
}

// forgetHopeless drops what is remembered of jobs that are gone.
func (p *plugin) forgetHopeless() {
	if len(p.cache.hopeless.answers) == 0 {
		return
	}
	if nodes := p.cache.hopeless.nodes; len(nodes) > 2*len(p.session.NodeList) {
		clear(nodes) // most are gone
	}
	groups := map[types.UID]bool{}
	for _, job := range p.session.Jobs {
		if job.PodGroup != nil {
			groups[job.PodGroup.UID] = true
		}
	}
	for asked := range p.cache.hopeless.answers {
		if !groups[asked.podGroup] {
			delete(p.cache.hopeless.answers, asked)
		}
	}
}

// stateFor is a hash of all that decides whether others can be evicted for a job. What waits besides the job's own pods does
// not.
func (p *plugin) stateFor(job *api.JobInfo) uint64 {
	h := &p.cache.hopeless
	state := p.stateOfCluster()
	for _, task := range job.TaskStatusIndex[api.Pending] {
		state += hash(h, [3]string{string(task.UID), task.Pod.ResourceVersion, task.Pod.Status.NominatedNodeName})
		if pod := p.snapshot.Known(task.Pod); pod != nil {
			for _, claim := range pod.Claims {
				state += hash(h, [3]string{string(task.UID), string(claim.Object.UID), claim.Object.ResourceVersion})
			}
		}
	}
	return state + hash(h, struct {
		priority, minimum int32
		failed            int
	}{job.Priority, job.MinAvailable, len(p.cache.reservations.failed[job.PodGroup.UID])})
}

// stateOfCluster is a hash of what runs, of nodes, queues, devices, and PodDisruptionBudgets. It is made once in a session, and again
// after each eviction.
func (p *plugin) stateOfCluster() uint64 {
	if p.clusterState != 0 {
		return p.clusterState
	}
	h := &p.cache.hopeless
	state := p.stateOfPods() + p.stateOfClaims()
	for _, node := range p.session.NodeList {
		state += h.stateOfNode(node)
	}
	for _, queue := range p.session.Queues {
		state += hash(h, [2]string{queue.Name, queue.Queue.ResourceVersion})
	}
	if budgets := p.disruptionBudgets(); budgets != nil {
		all, err := budgets.List(labels.Everything())
		if err != nil {
			klog.ErrorS(err, "Failed to list PodDisruptionBudgets")
		}
		for _, budget := range all {
			state += hash(h, [2]string{string(budget.UID), budget.ResourceVersion})
		}
	}
	p.clusterState = state | 1
	return p.clusterState
}

// nodeState is a hash of what decides of a node. Objects of nodes do not change: another state is another object.
type nodeState struct {
	object *corev1.Node
	hash   uint64
}

// stateOfNode is a hash of what decides of a node. It is made again for another object only. The version would not do: what DRA offers on
// the node changes without it.
func (h *hopeless) stateOfNode(node *api.NodeInfo) uint64 {
	known := h.nodes[node.Name]
	if known.object == node.Node {
		return known.hash
	}
	ready := slices.IndexFunc(node.Node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	text, err := json.Marshal([]any{node.Name, node.Node.Labels, node.Node.Spec, node.Node.Status.Allocatable, dra.ServedKey(node.Node), ready >= 0})
	if err != nil {
		text = []byte(node.Name + node.Node.ResourceVersion)
	}
	known = nodeState{node.Node, hash(h, string(text))}
	h.nodes[node.Name] = known
	return known.hash
}

func (p *plugin) stateOfPods() uint64 {
	h := &p.cache.hopeless
	type place struct {
		uid         api.TaskID
		node        string
		status      api.TaskStatus
		preemptable bool
	}
	type right struct {
		job      api.JobID
		queue    api.QueueID
		priority int32
		minimum  int32
	}
	var state uint64
	for _, job := range p.session.Jobs {
		if len(job.TaskStatusIndex[api.Pending]) < len(job.Tasks) {
			state += hash(h, right{job.UID, job.Queue, job.Priority, job.MinAvailable})
		}
		for status, tasks := range job.TaskStatusIndex {
			if status == api.Pending {
				continue
			}
			for _, task := range tasks {
				state += hash(h, place{task.UID, task.NodeName, status, task.Preemptable})
			}
		}
	}
	return state
}

func (p *plugin) stateOfClaims() uint64 {
	if p.devices == nil {
		return 0
	}
	h := &p.cache.hopeless
	if h.catalog != p.devices.Catalog {
		h.catalog, h.edition = p.devices.Catalog, h.edition+1
	}
	state := hash(h, h.edition)
	claims, err := devices.ClaimReader{Cache: p.devices.Cache}.Allocated()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	for _, claim := range claims {
		state += hash(h, [2]string{string(claim.UID), claim.ResourceVersion})
	}
	return state
}
