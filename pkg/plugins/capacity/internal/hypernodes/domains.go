// SPDX-License-Identifier: Apache-2.0

// Package hypernodes says in which HyperNodes the pods of a job with a hard network topology may be together.
package hypernodes

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// Domain is a HyperNode that may have all pods of a job.
type Domain struct {
	// Name is empty for the domain of all nodes.
	Name string
	// Nodes are the names of its nodes, nil for all nodes.
	Nodes sets.Set[string]
	tier  int
}

// Has reports whether a node is in the domain.
func (d Domain) Has(node string) bool { return d.Nodes == nil || d.Nodes.Has(node) }

// Known reports whether it is known in which HyperNodes the pods of a job may be together. It is not if groups of its pods have topologies of their own, if no
// HyperNode has the tier that it names, or while HyperNodes are being read.
func Known(session *framework.Session, job *api.JobInfo) bool {
	if !job.ContainsNetworkTopology() {
		return true
	}
	if !session.HyperNodesReadyToSchedule || job.ContainsNetworkTopologyInSubJob() {
		return false
	}
	wanted := job.PodGroup.Spec.NetworkTopology
	_, found := session.HyperNodeTierNameMap[wanted.HighestTierName]
	return wanted.HighestTierAllowed != nil || wanted.HighestTierName == "" || found
}

// Domains returns the HyperNodes that may have all pods of a job, those of the lowest tier first. One may be a part of another. All nodes are one domain unless
// the job has a hard topology. The answer must be known. Pods that have been given nodes in the session count, also if nothing was committed for them.
func Domains(session *framework.Session, job *api.JobInfo) []Domain {
	highest, hard := highestTier(session, job)
	if !hard {
		return []Domain{{}}
	}
	var above []string
	if job.AllocatedHyperNode != "" {
		above = session.HyperNodes.GetAncestors(job.AllocatedHyperNode) // with itself
	}
	var domains []Domain
	for name, hyperNode := range session.HyperNodes {
		nodes := session.RealNodesSet[name] // nil for a HyperNode without members
		if hyperNode.Tier() <= highest && (above == nil || slices.Contains(above, name)) && nodes.Len() > 0 && hasPipelined(nodes, job) {
			domains = append(domains, Domain{Name: name, Nodes: nodes, tier: hyperNode.Tier()})
		}
	}
	slices.SortFunc(domains, func(a, b Domain) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.Name, b.Name)) })
	return domains
}

// hasPipelined reports whether some nodes are those of all pods of a job that wait for others to leave. Upstream's allocate does not say in which HyperNode it has
// placed them.
func hasPipelined(nodes sets.Set[string], job *api.JobInfo) bool {
	for _, task := range job.TaskStatusIndex[api.Pipelined] {
		if !nodes.Has(task.NodeName) {
			return false
		}
	}
	return true
}

// highestTier returns the highest tier of a HyperNode that may have all pods of a job. It returns false if the job has no hard topology. Without a tier, a
// topology is not hard: see IsHardTopologyMode of Volcano's JobInfo.
func highestTier(session *framework.Session, job *api.JobInfo) (int, bool) {
	if hard, highest := job.IsHardTopologyMode(); hard || !job.WithNetworkTopology() {
		return highest, hard
	}
	wanted := job.PodGroup.Spec.NetworkTopology
	highest, found := session.HyperNodeTierNameMap[wanted.HighestTierName]
	return highest, found && wanted.Mode == scheduling.HardNetworkTopologyMode
}

// Settle binds a job to the smallest of its domains that has some nodes, until the session ends. Later pods of the job then go where they can be together with
// those on the nodes. It returns false if no domain has all of them.
func Settle(session *framework.Session, job *api.JobInfo, nodes []string) bool {
	for _, domain := range Domains(session, job) {
		switch {
		case domain.Nodes == nil:
			return true
		case domain.Nodes.HasAll(nodes...):
			job.AllocatedHyperNode = domain.Name
			for _, group := range job.SubJobs {
				group.AllocatedHyperNode = domain.Name
			}
			return true
		}
	}
	return false
}
