// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// contest is a zone of two racks of two nodes each, all in use, where a gang asks for some of it.
type contest struct {
	name   string
	queues []owed
	// holds are the gangs that run: a, b, and so on.
	holds []contender
	asks  contender
	// gone has the gangs that lose pods, with the numbers of pods, in alternatives. The gang that asks runs then. If nobody loses a pod, it waits.
	gone string
	// units is what each node has, 1 by default.
	units int
	// oneRack says that the gang that asks ends in one rack.
	oneRack bool
	// races is a gang that waits for the same, and gets nothing.
	races contender
}

// owed is a queue, with what it deserves and is guaranteed, and a further part of its spec.
type owed struct {
	name                string
	deserved, guarantee int
	more                string
}

// contender is a gang, with a further part of the spec of its PodGroup. Each of its pods asks for some units.
type contender struct {
	queue, priority string
	pods, least     int
	more            string
	each            int
}

// of returns a gang whose pods ask for one unit each.
func of(queue, priority string, pods, least int, more ...string) contender {
	return contender{queue, priority, pods, least, strings.Join(more, ""), 1}
}

func (c contender) large() contender { c.each = 5; return c }

const (
	// roles are a server, which is the first pod, and workers.
	roles = `, minTaskMember: {server: 1, worker: 2}`
	// pairs are two groups of two pods, one of which the gang needs.
	pairs = `, subGroupPolicy: [{name: half, subGroupSize: 2, minSubGroups: 1, matchLabelKeys: [half]}]`
)

var (
	alone  = []owed{{name: "ours", deserved: 4}}
	halves = []owed{{name: "ours", deserved: 2}, {name: "theirs", deserved: 2}}
	closed = []owed{{name: "ours", deserved: 2}, {name: "theirs", deserved: 2, more: ", reclaimable: false"}}
	unlike = []owed{{name: "ours", deserved: 1}, {name: "theirs", deserved: 3}}
)

// contests are the situations in Volcano's own tests of gangpreempt and gangreclaim.
var contests = []contest{
	{name: "preempts what is above the minimum", queues: alone, holds: []contender{of("ours", "low", 4, 2)}, asks: of("ours", "high", 2, 2), gone: "a:2"},
	{name: "preempts what two gangs have above the minimum", queues: alone, holds: []contender{of("ours", "low", 2, 1), of("ours", "low", 2, 1)}, asks: of("ours", "high", 2, 2),
		gone: "a:1 b:1|a:2|b:2"}, // Volcano takes one of each. Here, a job with the minimum 1 is no gang, and each of its pods can be evicted
	{name: "preempts one gang of two", queues: alone, holds: []contender{of("ours", "low", 2, 2), of("ours", "low", 2, 2)}, asks: of("ours", "high", 2, 2), gone: "a:2|b:2"},
	{name: "preempts two gangs", queues: alone, holds: []contender{of("ours", "low", 2, 2), of("ours", "low", 2, 2)}, asks: of("ours", "high", 4, 4), gone: "a:2 b:2"},
	{name: "preempts a larger gang", queues: alone, holds: []contender{of("ours", "low", 4, 4)}, asks: of("ours", "high", 2, 2), gone: "a:4"},
	{name: "preempts nobody in another queue", queues: closed, holds: []contender{of("theirs", "low", 4, 4)}, asks: of("ours", "high", 2, 2)},
	{name: "preempts nobody of the same priority", queues: alone, holds: []contender{of("ours", "medium", 4, 4)}, asks: of("ours", "medium", 2, 2)},
	{name: "preempts nobody if those of lower priority do not suffice", queues: alone, holds: []contender{of("ours", "high", 2, 2), of("ours", "low", 2, 2)}, asks: of("ours", "medium", 4, 4)},
	{name: "preempts a worker, not the server", queues: alone, holds: []contender{of("ours", "low", 4, 3, roles)}, asks: of("ours", "high", 1, 1), gone: "a:1"},
	{name: "preempts a pair", queues: alone, holds: []contender{of("ours", "low", 4, 2, hardZone, pairs)}, asks: of("ours", "high", 2, 2, hardZone), gone: "a:2"},
	{name: "preempts in one rack", queues: alone, holds: []contender{of("ours", "low", 4, 2, hardZone)}, asks: of("ours", "high", 2, 2, hardRack), gone: "a:2", oneRack: true},
	{name: "preempts nobody if all racks are too small", queues: []owed{{name: "ours", deserved: 16}}, units: 8, holds: []contender{of("ours", "low", 4, 4, hardZone)}, asks: of("ours", "high", 3, 3, hardRack).large()},
	{name: "preempts a gang of which single pods do not suffice", queues: alone, holds: []contender{of("ours", "low", 4, 2, hardZone)}, asks: of("ours", "high", 3, 3, hardZone), gone: "a:4"},
	{name: "preempts in one rack of the zone", queues: alone, holds: []contender{of("ours", "low", 4, 2, hardZone)}, asks: of("ours", "high", 2, 2, hardZone), gone: "a:2", oneRack: true},

	{name: "takes back what is above the minimum", queues: halves, holds: []contender{of("theirs", "low", 4, 2)}, asks: of("ours", "low", 2, 2), gone: "a:2"},
	{name: "takes back one gang of two", queues: halves, holds: []contender{of("theirs", "low", 2, 2), of("theirs", "low", 2, 2)}, asks: of("ours", "low", 2, 2), gone: "a:2|b:2"},
	{name: "takes back nothing that others deserve", queues: append([]owed{{name: "others", deserved: 2}}, halves...), holds: []contender{of("theirs", "low", 2, 2), of("others", "low", 2, 2)}, asks: of("ours", "low", 2, 2)},
	{name: "takes back nothing from a queue that is not reclaimable", queues: closed, holds: []contender{of("theirs", "low", 4, 2)}, asks: of("ours", "low", 2, 2)},
	{name: "takes back nothing that is guaranteed", queues: []owed{{name: "ours", deserved: 4}, {name: "theirs", deserved: 2, guarantee: 2}}, holds: []contender{of("theirs", "low", 4, 2)}, asks: of("ours", "low", 4, 4)},
	{name: "takes back nothing if its queue has what it deserves", queues: unlike, holds: []contender{of("ours", "low", 2, 2), of("theirs", "low", 2, 2)}, asks: of("ours", "low", 2, 2)},
	{name: "takes back a worker, not the server", queues: unlike, holds: []contender{of("theirs", "low", 4, 3, roles)}, asks: of("ours", "low", 1, 1), gone: "a:1"},
	{name: "takes back a pair", queues: halves, holds: []contender{of("theirs", "low", 4, 2, hardZone, pairs)}, asks: of("ours", "low", 2, 2, hardZone), gone: "a:2"},
	{name: "takes back one rack", queues: halves, holds: []contender{of("theirs", "low", 4, 2, hardZone)}, asks: of("ours", "low", 2, 2, hardRack), gone: "a:2", oneRack: true},
	{name: "takes back nothing if all racks are too small", queues: []owed{{name: "ours", deserved: 16}, {name: "theirs", deserved: 16}}, units: 8, holds: []contender{of("theirs", "low", 4, 4, hardZone)}, asks: of("ours", "low", 3, 3, hardRack).large()},
	{name: "takes back nothing for more than its queue deserves", queues: halves, holds: []contender{of("theirs", "low", 4, 2, hardZone)}, asks: of("ours", "low", 3, 3, hardZone),
		gone: ""}, // Volcano takes back three, which leaves the others with less than they deserve
	{name: "takes back one rack of the zone", queues: halves, holds: []contender{of("theirs", "low", 4, 2, hardZone)}, asks: of("ours", "low", 2, 2, hardZone), gone: "a:2", oneRack: true},
	{name: "keeps what it takes back from a gang whose queue comes first", queues: []owed{{name: "ours", deserved: 2}, {name: "theirs", deserved: 2, more: ", priority: 100"}},
		holds: []contender{of("theirs", "low", 4, 2)}, races: of("theirs", "low", 2, 2), asks: of("ours", "low", 2, 2), gone: "a:2"},
}

// TestGangsTakeFromGangs: what is contested makes no difference, nor does what is full.
func TestGangsTakeFromGangs(t *testing.T) {
	configuration := strings.Replace(withTopology(sample()), "    arguments:\n", "    arguments:\n      gangEvictions: true\n      reclaimGangs: true\n", 1)
	for i, c := range contests {
		contested := contestedGoods()
		if testing.Short() {
			contested = contested[i%len(contested):][:1]
		}
		for _, g := range contested {
			t.Run(c.name+"/"+g.name, func(t *testing.T) {
				r, node := c.cluster(&g), 0
				for i, holder := range c.holds {
					r.contender(string(rune('a'+i)), holder, &g, node)
					node += holder.pods
				}
				r.contender("races", c.races, &g, -1)
				r.contender("gang", c.asks, &g, -1)
				out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: configuration}, nil)
				if err != nil {
					t.Fatal(err)
				}
				c.check(t, out)
			})
		}
	}
}

func (c *contest) check(t *testing.T, out *Outcome) {
	var gone []string
	runs, racks := map[string][]string{}, map[int]bool{}
	for _, w := range out.Workloads {
		if len(w.Evicted) > 0 {
			gone = append(gone, fmt.Sprintf("%s:%d", w.Name, len(w.Evicted)))
		}
		for _, pod := range w.Pods {
			runs[w.Name] = append(runs[w.Name], pod.Name)
			if w.Name == "gang" {
				racks[rackOf(pod.Node)] = true
			}
		}
	}
	want := 0
	if c.gone != "" {
		want = c.asks.pods
	}
	if got := strings.Join(gone, " "); !slices.Contains(strings.Split(c.gone, "|"), got) || len(runs["gang"]) != want || len(runs["races"]) > 0 {
		t.Errorf("%v run, and %q are evicted, want %d pods of the gang, and %q: %+v", runs, got, want, c.gone, out.Workloads)
	}
	if c.oneRack && len(racks) != 1 {
		t.Errorf("the gang is in the racks %v", slices.Sorted(maps.Keys(racks)))
	}
	switch left, more := runs["a"], c.holds[0].more; {
	case more == roles && !slices.Contains(left, "a-0"):
		t.Errorf("the server is evicted: %v are left", left)
	case strings.Contains(more, pairs) && !slices.Equal(left, []string{"a-0", "a-2"}) && !slices.Equal(left, []string{"a-1", "a-3"}):
		t.Errorf("no pair is left: %v", left)
	}
}
