// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// stateFor returns a hash of everything that decides whether victims can be evicted for a job. Waiting pods of other jobs do
// not count. For a job that could never start, the holdings of others do not count either.
func (s *Session) stateFor(job *api.JobInfo, never bool) uint64 {
	h := s.Cache
	var state uint64
	if never {
		state = s.stateOfNodes() + hash(h, len(job.Tasks)-len(job.TaskStatusIndex[api.Pending]))
		if s.Placements.Devices != nil {
			state += hash(h, s.Placements.Devices.NotEvictable())
		}
	} else {
		state = s.stateOfCluster()
	}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		state += hash(h, [3]string{string(task.UID), task.Pod.ResourceVersion, task.Pod.Status.NominatedNodeName})
		if pod := s.Snapshot.Known(task.Pod); pod != nil {
			for _, claim := range pod.Claims {
				state += hash(h, [3]string{string(task.UID), string(claim.Object.UID), claim.Object.ResourceVersion})
			}
		}
	}
	if job.ContainsNetworkTopologyInSubJob() {
		for _, group := range job.SubJobs {
			state += hash(h, [2]string{string(group.UID), group.AllocatedHyperNode})
		}
	}
	hard, highest := job.IsHardTopologyMode()
	return state + hash(h, struct {
		priority, minimum int32
		failed            int
		hard              bool
		highest           int
		hyperNode         string
	}{job.Priority, job.MinAvailable, s.Nominations.Cache.Failures(job), hard, highest, job.AllocatedHyperNode})
}

// stateOfCluster returns a hash of pods that do not wait, nodes, queues, devices, and PodDisruptionBudgets. It is computed once in a
// session, and again after each eviction.
func (s *Session) stateOfCluster() uint64 {
	if s.clusterState != 0 {
		return s.clusterState
	}
	h := s.Cache
	state := s.stateOfPods() + s.stateOfClaims() + s.stateOfNodes()
	for _, queue := range s.Volcano.Queues {
		state += hash(h, [2]string{queue.Name, queue.Queue.ResourceVersion})
	}
	if budgets := s.disruptionBudgets(); budgets != nil {
		all, err := budgets.List(labels.Everything())
		if err != nil {
			klog.ErrorS(err, "Failed to list PodDisruptionBudgets")
		}
		for _, budget := range all {
			state += hash(h, [2]string{string(budget.UID), budget.ResourceVersion})
		}
	}
	s.clusterState = state | 1
	return s.clusterState
}

// stateOfNodes returns a hash of the capacity of nodes, used or not, of devices, and of HyperNodes. It is computed once in a session.
func (s *Session) stateOfNodes() uint64 {
	if s.nodesState != 0 {
		return s.nodesState
	}
	h := s.Cache
	var state uint64
	for _, node := range s.Volcano.NodeList {
		state += h.stateOfNode(node) + hash(h, [2]float64{node.Allocatable.MilliCPU, node.Allocatable.Memory})
	}
	for name, hyperNode := range s.Volcano.HyperNodes {
		if hyperNode.HyperNode != nil { // Volcano adds one that has all nodes
			state += hash(h, [2]string{name, hyperNode.HyperNode.ResourceVersion})
		}
	}
	if s.Placements.Devices != nil {
		if h.catalog != s.Placements.Devices.Catalog {
			h.catalog, h.edition = s.Placements.Devices.Catalog, h.edition+1
		}
		state += hash(h, h.edition)
	}
	s.nodesState = state | 1
	return s.nodesState
}

// nodeState is a hash of the relevant state of a node. Node objects are immutable: a new state is a new object.
type nodeState struct {
	object *corev1.Node
	hash   uint64
}

// stateOfNode returns a hash of the relevant state of a node. It is computed again only for a new object. The resource version does not
// suffice: what DRA offers on the node changes without it.
func (h *Cache) stateOfNode(node *api.NodeInfo) uint64 {
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

func (s *Session) stateOfPods() uint64 {
	h := s.Cache
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
	for _, job := range s.Volcano.Jobs {
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

func (s *Session) stateOfClaims() uint64 {
	if s.Placements.Devices == nil {
		return 0
	}
	h := s.Cache
	var state uint64
	claims, err := devices.ClaimReader{Cache: s.Placements.Devices.Cache}.Allocated()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	for _, claim := range claims {
		state += hash(h, [2]string{string(claim.UID), claim.ResourceVersion})
	}
	return state
}
