// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"encoding/binary"
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/joint"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// nodesFor reports whether there are nodes in a domain for the subgroups that are not left out, each in its own domain.
func (g *gang) nodesFor(within hypernodes.Domain, coupled bool, enough func([]int) bool, accepts func(places []int, on [][]int) (bool, error)) (bool, error) {
	may := func(place int, k *kind) bool {
		return !k.of.out && k.suits[place] && k.of.domain.Has(g.nodes[place].Name)
	}
	in := g.placesIn(within)
	if err := g.spend(len(in) * len(g.kinds) / lookedAtOfUnit); err != nil {
		return false, err
	}
	places := slices.DeleteFunc(in, func(place int) bool {
		return !slices.ContainsFunc(g.kinds, func(k *kind) bool { return may(place, k) })
	})
	search := joint.Search{
		Pods: g.counts(), Nodes: len(places), Coupled: coupled,
		Suits:   func(node, kind int) bool { return may(places[node], g.kinds[kind]) },
		Fits:    func(node int, pods []int) (bool, error) { return g.fits(places[node], pods) },
		Enough:  enough,
		Accepts: func(on [][]int) (bool, error) { return accepts(places, on) },
		Step:    g.spend,
	}
	return search.Run()
}

// fits reports whether the node at a place has room for these numbers of pods.
func (g *gang) fits(place int, pods []int) (bool, error) {
	key := g.roomKey(place, pods)
	if known, found := g.known[key]; found {
		return known, nil
	}
	group, sum, requests := placement.Group{Node: g.nodes[place]}, api.EmptyResource(), 0
	for i, kind := range g.kinds {
		for _, task := range kind.tasks[:pods[i]] {
			sum.Add(task.InitResreq)
			requests += 2 + len(task.InitResreq.ScalarResources)
			group.Tasks = append(group.Tasks, task)
		}
	}
	if err := g.spend(requests / requestsOfUnit); err != nil {
		return false, err
	}
	if !sum.LessEqual(group.Node.Idle, api.Zero) || !g.nominations.HasRoom(group.Node, sum) {
		return false, nil
	}
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	_, found := g.placements.PickTogether([]placement.Group{group}, g.effort)
	g.known[key] = found
	return found, nil
}

// roomKey returns what identifies a question about the room of a node: the number of pods of each look.
func (g *gang) roomKey(place int, pods []int) string {
	looks := map[int]int{}
	for i, n := range pods {
		if n > 0 {
			looks[g.kinds[i].number] += n
		}
	}
	key := binary.AppendUvarint(nil, uint64(place))
	for _, number := range slices.Sorted(maps.Keys(looks)) {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(number)), uint64(looks[number]))
	}
	return string(key)
}

// accepts reports whether nodes can have these numbers of pods at the same time. Subgroups that do not start have none.
func (g *gang) accepts(places []int, on [][]int) (bool, error) {
	if err := g.spend(costOfPick); err != nil {
		return false, err
	}
	all := make([]int, len(g.kinds))
	for _, pods := range on {
		for i, n := range pods {
			all[i] += n
		}
	}
	var groups []placement.Group
	placed, dealt := g.placed(all), make([]int, len(g.kinds))
	for node, pods := range on {
		group := placement.Group{Node: g.nodes[places[node]]}
		for i, n := range pods {
			if kind := g.kinds[i]; kind.of.starts(placed) {
				group.Tasks = append(group.Tasks, kind.tasks[dealt[i]:dealt[i]+n]...)
				dealt[i] += n
			}
		}
		if len(group.Tasks) > 0 {
			groups = append(groups, group)
		}
	}
	choice, found := g.placements.PickTogether(groups, g.effort)
	switch {
	case found:
		g.groups, g.choice = groups, choice
		return true, nil
	case !g.coupled && !g.elsewhere && g.missing == len(g.job.TaskStatusIndex[api.Pending]):
		return false, joint.ErrGivenUp // the quota refuses all these pods, wherever they go
	default:
		g.refused = true
		return false, nil
	}
}

// placesIn returns the places of the nodes of a domain, in order.
func (g *gang) placesIn(domain hypernodes.Domain) []int {
	var in []int
	for name := range domain.Nodes {
		if place, found := g.places[name]; found {
			in = append(in, place)
		}
	}
	if domain.Nodes == nil {
		in = slices.Collect(maps.Values(g.places))
	}
	slices.Sort(in)
	return in
}
