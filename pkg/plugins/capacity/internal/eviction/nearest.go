// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
)

// Nearest says which HyperNode could have the most waiting pods of a job, or of one of its groups, as nodes and quotas are now, without evictions.
type Nearest struct {
	// Group is the group whose pods these are. It is empty for all pods of the job.
	Group string
	// HyperNode is the first one that could have the most of the pods, Pods how many, and Waiting how many there are.
	HyperNode     string
	Pods, Waiting int
}

// Nearest returns an answer for the job if it may not use all nodes, and one for each kind of groups that may not use all nodes of the job. Each group is tried
// alone: where others could be at the same time is not known. It returns nil if not everything could be tried before the time has expired.
func (s *Solver) Nearest(job *api.JobInfo, expired func() bool) (answers []Nearest) {
	a := s.preemptorFor(Preempt, job)
	if a == nil {
		return nil
	}
	a.begin()
	a.expired = expired
	p := &planning{preemptor: a, changed: map[*api.TaskInfo]bool{}}
	waiting := p.waiting(func(task *api.TaskInfo) bool { return !task.SchGated })
	domains := hypernodes.Domains(s.Session, job)
	if bounded(domains) {
		answers = append(answers, a.nearest("", domains, waiting))
	}
	if !job.ContainsNetworkTopologyInSubJob() {
		return a.ifFinished(answers)
	}
	tried := map[string]bool{}
	for _, g := range p.groupsOf(waiting) {
		if a.unfinished || expired() {
			return nil
		}
		of := slices.DeleteFunc(hypernodes.Within(s.Session, job, g.SubJobInfo, hypernodes.Domain{}), func(d hypernodes.Domain) bool {
			return !slices.ContainsFunc(domains, func(all hypernodes.Domain) bool { return all.Nodes == nil || all.Nodes.IsSuperset(d.Nodes) })
		})
		if alike := p.likeness(g) + g.AllocatedHyperNode; bounded(of) && !tried[alike] {
			tried[alike] = true
			answers = append(answers, a.nearest(strings.TrimPrefix(string(g.UID), string(job.UID)+"/"), of, g.tasks))
		}
	}
	return a.ifFinished(answers)
}

func (a *preemptor) ifFinished(answers []Nearest) []Nearest {
	if a.unfinished {
		return nil
	}
	return answers
}

// bounded reports whether none of the domains has all nodes.
func bounded(domains []hypernodes.Domain) bool {
	return !slices.ContainsFunc(domains, func(d hypernodes.Domain) bool { return d.Nodes == nil })
}

// nearest tries each domain for pods.
func (a *preemptor) nearest(group string, domains []hypernodes.Domain, waiting []*api.TaskInfo) Nearest {
	nearest, best := Nearest{Group: group, Waiting: len(waiting)}, -1
	a.inShares(domains, func(i int) {
		if a.unfinished {
			return
		}
		a.enter(domains[i])
		p := &planning{preemptor: a, changed: map[*api.TaskInfo]bool{}}
		p.placeInOrder(waiting)
		if n := len(p.steps); n > nearest.Pods || n == nearest.Pods && i < best {
			best, nearest.HyperNode, nearest.Pods = i, domains[i].Name, n
		}
		p.discard()
		p.prepareAgain()
	})
	return nearest
}
