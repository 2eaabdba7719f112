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

// Has reports whether the domain has a node.
func (d Domain) Has(node string) bool { return d.Nodes == nil || d.Nodes.Has(node) }

// Known reports whether it is known in which HyperNodes the pods of a job may be together. It is not if no HyperNode has a tier that it names, or while
// HyperNodes are being read.
func Known(session *framework.Session, job *api.JobInfo) bool {
	if !job.ContainsNetworkTopology() {
		return true
	}
	wanted := []*scheduling.NetworkTopologySpec{job.PodGroup.Spec.NetworkTopology}
	for i := range job.PodGroup.Spec.SubGroupPolicy {
		wanted = append(wanted, job.PodGroup.Spec.SubGroupPolicy[i].NetworkTopology)
	}
	return session.HyperNodesReadyToSchedule && !slices.ContainsFunc(wanted, func(w *scheduling.NetworkTopologySpec) bool {
		return w != nil && w.HighestTierAllowed == nil && w.HighestTierName != "" && !has(session.HyperNodeTierNameMap, w.HighestTierName)
	})
}

func has(tiers api.HyperNodeTierNameMap, name string) bool { _, found := tiers[name]; return found }

// Domains returns the HyperNodes that may have all pods of a job, those of the lowest tier first. One may be a part of another. All nodes are one domain unless
// the job has a hard topology. The answer must be known. Pods that have been given nodes in the session count, also if nothing was committed for them.
func Domains(session *framework.Session, job *api.JobInfo) []Domain {
	if job.PodGroup == nil {
		return []Domain{{}}
	}
	return domains(session, job.PodGroup.Spec.NetworkTopology, Domain{}, job.AllocatedHyperNode, job.TaskStatusIndex[api.Pipelined])
}

// Within returns the domains of a group of pods that are in a domain of its job. That is the only one unless the group has a hard topology of its own.
func Within(session *framework.Session, job *api.JobInfo, group *api.SubJobInfo, domain Domain) []Domain {
	return domains(session, PolicyOf(job, group).NetworkTopology, domain, group.AllocatedHyperNode, group.TaskStatusIndex[api.Pipelined])
}

// PolicyOf returns the policy of a group. It is empty if there is none.
func PolicyOf(job *api.JobInfo, group *api.SubJobInfo) (none scheduling.SubGroupPolicySpec) {
	for _, policy := range job.PodGroup.Spec.SubGroupPolicy {
		if string(group.GID) == string(job.UID)+"/"+policy.Name {
			return policy
		}
	}
	return none
}

func domains(session *framework.Session, wanted *scheduling.NetworkTopologySpec, within Domain, used string, pipelined api.TasksMap) []Domain {
	highest, hard := highestTier(session, wanted)
	if !hard {
		return []Domain{within}
	}
	var above []string
	if used != "" {
		above = session.HyperNodes.GetAncestors(used) // with itself
	}
	var found []Domain
	for name, hyperNode := range session.HyperNodes {
		nodes := session.RealNodesSet[name] // nil for a HyperNode without members
		if hyperNode.Tier() <= highest && (above == nil || slices.Contains(above, name)) && nodes.Len() > 0 && (within.Nodes == nil || within.Nodes.IsSuperset(nodes)) && hasAll(nodes, pipelined) {
			found = append(found, Domain{Name: name, Nodes: nodes, tier: hyperNode.Tier()})
		}
	}
	slices.SortFunc(found, Compare)
	return found
}

// Compare orders domains: those of the lowest tier come first.
func Compare(a, b Domain) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.Name, b.Name))
}

// Names returns the names of domains.
func Names(domains []Domain) sets.Set[string] {
	names := sets.New[string]()
	for _, domain := range domains {
		names.Insert(domain.Name)
	}
	return names
}

// Widest returns those of some domains that are no part of others.
func Widest(session *framework.Session, domains []Domain) []Domain {
	names := Names(domains)
	return slices.DeleteFunc(slices.Clone(domains), func(d Domain) bool {
		hyperNode := session.HyperNodes[d.Name]
		return hyperNode != nil && names.Has(hyperNode.Parent)
	})
}

// hasAll reports whether some nodes are those of all pods that wait for others to leave. Upstream's allocate does not say in which HyperNode it has placed them.
func hasAll(nodes sets.Set[string], pipelined api.TasksMap) bool {
	for _, task := range pipelined {
		if !nodes.Has(task.NodeName) {
			return false
		}
	}
	return true
}

// highestTier returns the highest tier of a HyperNode that may have all pods with a topology. It returns false if this is no hard topology. Without a tier, a
// topology is not hard: see IsHardTopologyMode of Volcano's JobInfo.
func highestTier(session *framework.Session, wanted *scheduling.NetworkTopologySpec) (int, bool) {
	switch {
	case wanted == nil || wanted.Mode != scheduling.HardNetworkTopologyMode:
		return 0, false
	case wanted.HighestTierAllowed != nil:
		return *wanted.HighestTierAllowed, true
	}
	highest, found := session.HyperNodeTierNameMap[wanted.HighestTierName]
	return highest, found
}

// Settle binds a job, and its groups, to the smallest of their domains that have the nodes of some pods, until the session ends. Later pods go where they can be
// together with those. It returns false if no domain has all of them.
func Settle(session *framework.Session, job *api.JobInfo, pods []*api.TaskInfo) bool {
	domain, found := smallest(Domains(session, job), pods)
	if !found || job.PodGroup == nil {
		return found
	}
	names := map[*api.SubJobInfo]string{}
	for _, group := range job.SubJobs {
		placed := ofGroup(job, group, pods)
		if _, own := highestTier(session, PolicyOf(job, group).NetworkTopology); own && len(placed) == 0 {
			continue
		}
		of, found := smallest(Within(session, job, group, domain), placed)
		if !found {
			return false
		}
		names[group] = of.Name
	}
	if domain.Nodes != nil {
		job.AllocatedHyperNode = domain.Name
	}
	for group, name := range names {
		if name != "" {
			group.AllocatedHyperNode = name
		}
	}
	return true
}

func ofGroup(job *api.JobInfo, group *api.SubJobInfo, pods []*api.TaskInfo) []*api.TaskInfo {
	return slices.DeleteFunc(slices.Clone(pods), func(task *api.TaskInfo) bool { return job.TaskToSubJob[task.UID] != group.UID })
}

// smallest returns the first of some domains that has the nodes of all these pods.
func smallest(domains []Domain, pods []*api.TaskInfo) (Domain, bool) {
	for _, domain := range domains {
		if !slices.ContainsFunc(pods, func(task *api.TaskInfo) bool { return !domain.Has(task.NodeName) }) {
			return domain, true
		}
	}
	return Domain{}, false
}
