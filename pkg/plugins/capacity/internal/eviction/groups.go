// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/victims"
)

// group is a group of a job with its waiting pods.
type group struct {
	*api.SubJobInfo
	tasks []*api.TaskInfo
}

// groupsOf returns the groups of pods, those with the most waiting pods first: these suit the fewest domains.
func (p *planning) groupsOf(tasks []*api.TaskInfo) []*group {
	var all []*group
	for _, task := range tasks {
		of := p.job.SubJobs[p.job.TaskToSubJob[task.UID]]
		i := slices.IndexFunc(all, func(g *group) bool { return g.SubJobInfo == of })
		if i < 0 {
			i, all = len(all), append(all, &group{SubJobInfo: of})
		}
		all[i].tasks = append(all[i].tasks, task)
	}
	slices.SortStableFunc(all, func(a, b *group) int { return -cmp.Compare(len(a.tasks), len(b.tasks)) })
	return all
}

// effortOfGroup is the effort for a group besides its pods, and hyperNodesOfEffort the number of HyperNodes that are looked at for one more.
const effortOfGroup, hyperNodesOfEffort = 2, 20

// placeGroups places each group as a whole, in the one of its domains in which the victims are the cheapest. Groups share what is left of the effort. It reports
// whether the job then has its minimum, within its rights.
func (p *planning) placeGroups(groups []*group) bool {
	within, left := p.domain, p.effort
	vain := map[string]int{} // how many pods had places when a group like this one got none
	for i, g := range groups {
		alike := fmt.Sprintf("%s %s %d", p.likeness(g), g.AllocatedHyperNode, len(g.Tasks))
		if steps, tried := vain[alike]; tried && steps == len(p.steps) {
			continue
		}
		share := left / (len(groups) - i)
		if p.effort = share; p.exhausted() {
			break
		}
		p.spend(effortOfGroup + len(p.Session.HyperNodes)/hyperNodesOfEffort)
		before := len(p.steps)
		if p.placeGroup(g, within); len(p.steps) == before {
			vain[alike] = before
		}
		left -= share - p.effort
	}
	p.enter(within)
	p.effort = left
	return IsPipelined(p.Session, p.job) && p.isRight()
}

// trial says what came of placing a group in a domain. It is stale if another group has been placed since: that makes victims dearer.
type trial struct {
	cost      victims.Cost
	ok, stale bool
}

// placeGroup places a group. Alike groups share their trials. Only the cheapest one that is stale is made again.
func (p *planning) placeGroup(g *group, within hypernodes.Domain) {
	before, domains := len(p.steps), hypernodes.Within(p.Session, p.job, g.SubJobInfo, within)
	best := 0
	if len(domains) != 1 {
		best = p.cheapestFor(g, domains)
	}
	if best < 0 {
		return
	}
	if p.enter(domains[best]); !p.placeWhole(g) {
		p.undo(before)
	}
	for _, step := range p.steps[before:] {
		if slices.ContainsFunc(step.set, func(i int) bool { return len(p.all[i].tasks) > 1 }) {
			clear(p.trials) // room was freed in other domains
		}
	}
}

// cheapestFor returns the domain in which the victims for a group are the cheapest, -1 if it fits nowhere.
func (p *planning) cheapestFor(g *group, domains []hypernodes.Domain) int {
	alike := p.likeness(g)
	if p.trials[alike] == nil {
		p.trials[alike] = map[string]trial{}
	}
	trials := p.trials[alike]
	untried := slices.DeleteFunc(slices.Clone(domains), func(d hypernodes.Domain) bool { _, tried := trials[d.Name]; return tried })
	try := func(d hypernodes.Domain) {
		before := len(p.steps)
		p.enter(d)
		ok := p.placeWhole(g)
		trials[d.Name] = trial{cost: p.costFrom(before), ok: ok}
		p.undo(before)
	}
	for name, t := range trials {
		t.stale = true
		trials[name] = t
	}
	p.inShares(untried, func(i int) { try(untried[i]) })
	for {
		best := -1
		for i := range domains {
			if t := trials[domains[i].Name]; t.ok && (best < 0 || t.cost.Compare(trials[domains[best].Name].cost) < 0) {
				best = i
			}
		}
		if best < 0 || !trials[domains[best].Name].stale {
			return best
		}
		p.inShares(domains[best:best+1], func(int) { try(domains[best]) })
	}
}

// placeWhole places the pods of a group. It reports whether the group then has its minimum.
func (p *planning) placeWhole(g *group) bool {
	p.placeInOrder(g.tasks)
	return g.IsPipelined()
}

// likeness is the same for groups of one policy with as many pods of each role, apart from the labels that tell the groups apart.
func (p *planning) likeness(g *group) string {
	if p.likenesses[g.UID] == "" {
		p.likenesses[g.UID] = p.readLikeness(g)
	}
	return p.likenesses[g.UID]
}

func (p *planning) readLikeness(g *group) string {
	all := []string{string(g.GID)}
	for _, task := range g.tasks {
		pod, err := p.Snapshot.PodOf(task)
		if err != nil {
			continue
		}
		if task.TaskRole != "" {
			all = append(all, task.TaskRole)
			continue
		}
		like := api.TaskInfo{UID: task.UID, Pod: task.Pod.DeepCopy()}
		for _, key := range hypernodes.PolicyOf(p.job, g.SubJobInfo).MatchLabelKeys {
			delete(like.Pod.Labels, key)
		}
		all = append(all, p.Solver.roles.read(&like, pod))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
