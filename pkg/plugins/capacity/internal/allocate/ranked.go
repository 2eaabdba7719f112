// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"math/rand/v2"
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/ranking"
)

// maxAnswers limits the memory of all rankings of a session, to some 100 megabytes: a refusal has the text of each reason.
const maxAnswers = 200_000

// rankings are the rankings of a session.
type rankings struct {
	known map[signature]*shared
	// answers is the number of answers that all rankings have.
	answers int
}

// shared is what is known for pods with the same signature.
type shared struct {
	*ranking.Ranking
	// found is what filtering has found out about the devices of each node.
	found []devices.Finding
	// exhausted says that the quota has refused devices. The next pods share nothing any more.
	exhausted bool
	// failure says why no node suited the last of these pods. It is nil if there was one.
	failure *api.FitErrors
	// changes is the number of changes of nodes that failure takes into account.
	changes int
}

// of returns what is known for pods with a signature.
func (r *rankings) of(signed signature, nodes int) *shared {
	if r.answers > maxAnswers || r.known == nil {
		r.known, r.answers = map[signature]*shared{}, 0
	}
	s := r.known[signed]
	if s == nil {
		s = &shared{Ranking: ranking.New(nodes, rand.IntN(nodes)), found: make([]devices.Finding, nodes)}
		r.known[signed] = s
	}
	return s
}

// ranked returns the best node for a pod, or why there is none, by what is known for pods with the same signature. done is false if the pod shares nothing.
func (a *Action) ranked(task *api.TaskInfo) (node *api.NodeInfo, why *api.FitErrors, done bool) {
	if !a.shares {
		return nil, nil, false
	}
	signed, ok := a.sign(task)
	if !ok {
		return nil, nil, false
	}
	s := a.rankings.of(signed, len(a.nodes))
	if s.exhausted {
		return nil, nil, false
	}
	before := s.Asked()
	node = a.bestOf(s, task)
	a.rankings.answers += s.Asked() - before
	s.exhausted = a.placements.RefusesDevices(task) // what this pod was told is right
	if node != nil {
		s.failure = nil
		return node, nil, true
	}
	for _, found := range []devices.Finding{devices.Has, devices.Lacks} {
		if place := slices.Index(s.found, found); place >= 0 {
			a.placements.Adopt(task, a.nodes[place], found)
		}
	}
	return nil, a.failure(s), true
}

// bestOf returns the best node, nil if there is none. A node that an earlier pod asked is asked once more for the devices that this pod would get there.
func (a *Action) bestOf(s *shared, task *api.TaskInfo) *api.NodeInfo {
	enough := int(util.CalculateNumOfFeasibleNodesToFind(int32(len(a.nodes))))
	for {
		place, now, found := s.Best(a.changed, enough, a.asker(s, task))
		switch {
		case !found:
			return nil
		case now || !a.placements.PicksDevices(task):
			return a.nodes[place]
		}
		err := a.filter(task, a.nodes[place])
		if err == nil {
			return a.nodes[place]
		}
		s.Refuse(place, err)
		s.found[place] = a.placements.Finding(task, a.nodes[place])
		s.failure = nil
	}
}

// asker returns a function that asks a node about a pod, and keeps what it finds out about devices.
func (a *Action) asker(s *shared, task *api.TaskInfo) func(place int) ranking.Answer {
	return func(place int) ranking.Answer {
		answer := a.ask(task, a.nodes[place])
		s.found[place] = a.placements.Finding(task, a.nodes[place])
		return answer
	}
}

// ask asks a node about a pod.
func (a *Action) ask(task *api.TaskInfo, node *api.NodeInfo) ranking.Answer {
	if err := a.filter(task, node); err != nil {
		return ranking.Answer{Refusal: err}
	}
	score, err := a.session.NodeOrderFn(task, node)
	if err != nil {
		klog.ErrorS(err, "Failed to score a node", "pod", klog.KObj(task.Pod), "node", node.Name)
	}
	return ranking.Answer{Later: !task.InitResreq.LessEqual(node.Idle, api.Zero), Score: score}
}

// failure returns why no node suits pods with the same signature.
func (a *Action) failure(s *shared) *api.FitErrors {
	if s.failure == nil || s.changes != len(a.changed) {
		s.failure, s.changes = api.NewFitErrors(), len(a.changed)
		for place, said := range s.Each {
			s.failure.SetNodeError(a.nodes[place].Name, said.Refusal)
		}
		_ = s.failure.Error() // it keeps its text: later, several jobs are read at the same time
	}
	return s.failure
}
