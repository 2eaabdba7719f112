// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/joint"
)

// lookedAtOfUnit is the number of kinds, or HyperNodes, that are looked at for one unit of the search effort.
const lookedAtOfUnit = 100

// subgroup has pods of a job that are together in one domain. All pods of a job without a policy for subgroups are one.
type subgroup struct {
	*api.SubJobInfo
	// missing is the number of waiting pods that it needs to start.
	missing int
	// domain is the one in which a search looks for nodes. If out is true, it looks for none.
	domain hypernodes.Domain
	out    bool
}

func newSubgroup(of *api.SubJobInfo) *subgroup {
	return &subgroup{SubJobInfo: of, missing: max(0, int(of.MinAvailable-of.ReadyTaskNum()-of.PendingBestEffortTaskNum()))}
}

// placed returns the number of pods of each subgroup, of these numbers of each kind.
func (g *gang) placed(pods []int) map[*subgroup]int {
	placed := map[*subgroup]int{}
	for i, kind := range g.kinds {
		placed[kind.of] += pods[i]
	}
	return placed
}

// starts reports whether a subgroup has enough of these numbers of pods. Volcano starts none of its pods if it has not.
func (s *subgroup) starts(placed map[*subgroup]int) bool { return placed[s] >= s.missing }

// complete reports whether all subgroups that are not left out have enough pods.
func (g *gang) complete(pods []int) bool {
	placed := g.placed(pods)
	return !slices.ContainsFunc(g.subgroups, func(s *subgroup) bool { return !s.out && !s.starts(placed) })
}

// spread is a search for domains of the subgroups with a topology of their own, within a domain of their job.
type spread struct {
	*gang
	within hypernodes.Domain
	// types has the subgroups, those together that are alike, and names the domains that those of a type may be in. Domains has what any of them may be in,
	// and free has the subgroups that may be anywhere.
	types   [][]*subgroup
	names   []sets.Set[string]
	domains []hypernodes.Domain
	free    []*subgroup
}

// search reports whether it has found nodes and devices in a domain of the job.
func (g *gang) search(within hypernodes.Domain) bool {
	found, err := false, g.spend(1+len(g.session.HyperNodes)/lookedAtOfUnit)
	if err == nil {
		s := g.spreadOver(within)
		g.refused = false
		found, err = s.run()
		if coupled := g.coupled; !found && err == nil && g.refused && !coupled { // fewer pods than fit on a node, or others, may be within the quota
			g.coupled = true
			found, err = s.run()
			g.coupled = coupled
		}
	}
	klog.V(3).InfoS("Looked for nodes for all pods of a job together", "job", g.job.UID, "hyperNode", within.Name, "found", found, "err", err)
	return found
}

func (g *gang) spreadOver(within hypernodes.Domain) *spread {
	s, types, domains, all := &spread{gang: g, within: within}, map[string]int{}, map[string][]hypernodes.Domain{}, g.looksOf()
	for _, of := range g.subgroups {
		of.domain = hypernodes.Domain{}
		place := fmt.Sprint(of.GID, " ", of.AllocatedHyperNode, " ", slices.Sorted(maps.Keys(of.TaskStatusIndex[api.Pipelined])))
		if _, known := domains[place]; !known {
			domains[place] = hypernodes.Widest(g.session, hypernodes.Within(g.session, g.job, of.SubJobInfo, within))
		}
		own, looks := domains[place], all[of]
		switch {
		case len(own) == 0 || len(looks) == 0:
			continue
		case len(own) == 1 && own[0].Name == within.Name:
			s.free = append(s.free, of)
			continue
		}
		key := fmt.Sprint(place, " ", of.missing, looks)
		at, found := types[key]
		if !found {
			at, types[key] = len(s.types), len(s.types)
			s.types, s.names, s.domains = append(s.types, nil), append(s.names, hypernodes.Names(own)), append(s.domains, own...)
		}
		s.types[at] = append(s.types[at], of)
	}
	slices.SortFunc(s.domains, hypernodes.Compare)
	s.domains = slices.CompactFunc(s.domains, func(a, b hypernodes.Domain) bool { return a.Name == b.Name })
	return s
}

// looksOf returns the number of pods of each look that the subgroups have.
func (g *gang) looksOf() map[*subgroup]map[int]int {
	looks := map[*subgroup]map[int]int{}
	for _, kind := range g.kinds {
		if looks[kind.of] == nil {
			looks[kind.of] = map[int]int{}
		}
		looks[kind.of][kind.number] += len(kind.tasks)
	}
	return looks
}

// only leaves out all subgroups but these.
func (s *spread) only(some ...*subgroup) {
	for _, of := range s.subgroups {
		of.out = true
	}
	for _, of := range some {
		of.out = false
	}
}

// first returns the first subgroups of each type.
func (s *spread) first(n []int) (all []*subgroup) {
	for t, of := range s.types {
		all = append(all, of[:n[t]]...)
	}
	return all
}

func (s *spread) run() (bool, error) {
	if len(s.types) == 0 {
		s.only(s.free...)
		return s.nodesFor(s.within, s.coupled, s.enough, s.accepts)
	}
	s.only(s.subgroups...) // an earlier search has left out some, and elastic counts all
	pods := make([]int, len(s.types))
	for t := range s.types {
		pods[t] = len(s.types[t])
	}
	search := joint.Search{
		Pods: pods, Nodes: len(s.domains), Refines: s.elastic(), Coupled: s.coupled || len(s.free) > 0 || s.overlap(),
		Suits: func(domain, t int) bool { return s.names[t].Has(s.domains[domain].Name) },
		Fits:  s.fitsIn,
		Enough: func(n []int) bool {
			s.only(append(s.first(n), s.free...)...)
			return s.enough(s.counts())
		},
		Accepts: s.acceptsIn,
		Step:    func(steps int) error { return s.spend(steps * (1 + len(s.kinds)/lookedAtOfUnit)) },
	}
	return search.Run()
}

// fitsIn reports whether a domain has room for so many subgroups of each type, regardless of all others.
func (s *spread) fitsIn(domain int, n []int) (bool, error) {
	some := s.first(n)
	for _, of := range some {
		of.domain = s.domains[domain]
	}
	s.only(some...)
	return s.nodesFor(s.domains[domain], false, s.complete, func([]int, [][]int) (bool, error) { return true, nil })
}

// acceptsIn reports whether all domains can have their subgroups at the same time, beside those that may be anywhere.
func (s *spread) acceptsIn(on [][]int) (bool, error) {
	some, dealt := slices.Clone(s.free), make([]int, len(s.types))
	for domain, n := range on {
		for t := range n {
			for _, of := range s.types[t][dealt[t] : dealt[t]+n[t]] {
				of.domain = s.domains[domain]
				some = append(some, of)
			}
			dealt[t] += n[t]
		}
	}
	s.only(some...)
	return s.nodesFor(s.within, s.coupled, s.enough, s.accepts)
}

// elastic reports whether some subgroup has more pods than it needs to start.
func (s *spread) elastic() bool {
	placed := s.placed(s.counts())
	return slices.ContainsFunc(s.subgroups, func(of *subgroup) bool { return placed[of] > of.missing })
}

// overlap reports whether some node is in two domains.
func (s *spread) overlap() bool {
	all, sum := sets.New[string](), 0
	for _, domain := range s.domains {
		all, sum = all.Union(domain.Nodes), sum+len(domain.Nodes)
	}
	return len(all) < sum
}
