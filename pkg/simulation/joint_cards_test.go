// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// cardResources are the resources that stand for cards, by what follows the model in the names of the cards.
var cardResources = map[string]string{"": "nvidia.com/gpu", "/mps-96g*1/2": "nvidia.com/gpu.shared", "/mig-1g.18gb-mixed": "nvidia.com/mig-1g.18gb"}

var cardKinds = slices.Sorted(maps.Keys(cardResources))

// cardNode is a node with cards of one model, and cardPod a pod that asks for so many cards of a kind, and of one of these models if there are any.
type cardNode struct {
	model string
	cards map[string]int
	cpu   int
}

type cardPod struct {
	kind   string
	count  int
	models []string
	cpu    int
}

// cardGang is a random gang with nodes and a queue of its own. Its first pods are in groups.
type cardGang struct {
	nodes []cardNode
	pods  []cardPod
	// quota has the cards of the queue, nil if it has no card quota, and cpu its cpu, zero for all.
	quota        map[string]int
	cpu, minimum int
	count, each  int
	size, least  int
}

func drawCards(random *rand.Rand) *cardGang {
	g := &cardGang{}
	for range 1 + random.IntN(3) {
		node := cardNode{[]string{"A", "B"}[random.IntN(2)], map[string]int{}, 1 + random.IntN(6)}
		for _, kind := range cardKinds {
			node.cards[kind] = random.IntN(4)
		}
		g.nodes = append(g.nodes, node)
	}
	var looks []cardPod
	for range 1 + random.IntN(3) {
		p := cardPod{kind: cardKinds[random.IntN(3)], count: random.IntN(3), cpu: 1 + random.IntN(2)}
		p.models = [][]string{nil, {"A"}, {"B"}, {"A", "B"}, {"B", "A"}}[random.IntN(5)]
		looks = append(looks, p)
	}
	for range 2 + random.IntN(5) {
		g.pods = append(g.pods, looks[random.IntN(len(looks))])
	}
	if random.IntN(4) > 0 {
		g.quota = map[string]int{}
		for _, model := range []string{"A", "B"} {
			for _, kind := range cardKinds {
				if random.IntN(4) > 0 {
					g.quota[model+kind] = random.IntN(5)
				}
			}
		}
	}
	if random.IntN(3) == 0 {
		g.cpu = 2 + random.IntN(6)
	}
	if g.minimum = len(g.pods); random.IntN(2) == 0 {
		g.minimum = 1 + random.IntN(len(g.pods))
	}
	if random.IntN(4) > 0 {
		g.count = 1 + random.IntN(min(4, len(g.pods)))
		g.each = len(g.pods) / g.count
		g.size, g.least = g.each-random.IntN(2)*random.IntN(g.each), g.count-random.IntN(2)*random.IntN(g.count+1)
	}
	return g
}

// cardSearch tries everything.
type cardSearch struct {
	*cardGang
	free    []cardNode
	charged map[string]int
	used    int
	ran     []bool
}

func (g *cardGang) starts() bool {
	s := &cardSearch{cardGang: g, charged: map[string]int{}, ran: make([]bool, len(g.pods))}
	for _, n := range g.nodes {
		n.cards = maps.Clone(n.cards)
		s.free = append(s.free, n)
	}
	return s.from(0)
}

func (s *cardSearch) enough() bool {
	sum, started := 0, 0
	for _, ran := range s.ran {
		if ran {
			sum++
		}
	}
	for group := range s.count {
		n := 0
		for _, ran := range s.ran[group*s.each : (group+1)*s.each] {
			if ran {
				n++
			}
		}
		switch {
		case n >= s.size:
			started++
		case n > 0:
			return false
		}
	}
	return sum >= s.minimum && started >= s.least
}

func (s *cardSearch) from(p int) bool {
	if p == len(s.pods) {
		return s.enough()
	}
	pod := s.pods[p]
	for i := range s.free {
		node := &s.free[i]
		name := node.model + pod.kind
		limit, listed := s.quota[name]
		if node.cpu < pod.cpu || s.cpu > 0 && s.used+pod.cpu > s.cpu {
			continue
		}
		if pod.count > 0 && (node.cards[pod.kind] < pod.count || len(pod.models) > 0 && !slices.Contains(pod.models, node.model) ||
			s.quota != nil && (!listed || s.charged[name]+pod.count > limit)) {
			continue
		}
		node.cpu, s.used, s.ran[p] = node.cpu-pod.cpu, s.used+pod.cpu, true
		node.cards[pod.kind] -= pod.count
		s.charged[name] += pod.count
		if s.from(p + 1) {
			return true
		}
		node.cpu, s.used, s.ran[p] = node.cpu+pod.cpu, s.used-pod.cpu, false
		node.cards[pod.kind] += pod.count
		s.charged[name] -= pod.count
	}
	return s.from(p + 1)
}

func (r *racks) cardGang(name string, g *cardGang) {
	var cards, capability string
	if g.quota != nil {
		var all []string
		for _, card := range slices.Sorted(maps.Keys(g.quota)) {
			all = append(all, fmt.Sprintf(`"%s": %d`, card, g.quota[card]))
		}
		cards = fmt.Sprintf(`, annotations: {volcano.sh/card.quota: '{%s}'}`, strings.Join(all, ", "))
	}
	if g.cpu > 0 {
		capability = fmt.Sprintf(`, capability: {cpu: "%d"}`, g.cpu)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s, uid: %[1]s%[2]s}, spec: {weight: 1, parent: root%[3]s}}`, name, cards, capability)
	for n, node := range g.nodes {
		amounts := fmt.Sprintf(`{cpu: "%d", memory: 64Gi, pods: "110"`, node.cpu)
		for _, kind := range cardKinds {
			amounts += fmt.Sprintf(`, %s: "%d"`, cardResources[kind], node.cards[kind])
		}
		r.add(`{apiVersion: v1, kind: Node, metadata: {name: %s-node-%d, uid: %[1]s-node-%[2]d, labels: {gang: %[1]s, nvidia.com/gpu.product: %[3]s, nvidia.com/gpu.memory: "97871", nvidia.com/gpu.replicas: "2"}}, status: {capacity: &all %[4]s}, allocatable: *all, conditions: [{type: Ready, status: "True"}]}}`, name, n, node.model, amounts)
	}
	groups := ""
	if g.count > 0 {
		groups = fmt.Sprintf(", subGroupPolicy: [{name: part, subGroupSize: %d, minSubGroups: %d, matchLabelKeys: [part]}]", g.size, g.least)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: %[1]s%[3]s}}`, name, g.minimum, groups)
	for p, pod := range g.pods {
		labels, annotation, limits := "", "", ""
		if p < g.count*g.each {
			labels = fmt.Sprintf("labels: {part: part-%d}, ", p/g.each)
		}
		if pod.count > 0 {
			limits = fmt.Sprintf(`, limits: {%s: "%d"}`, cardResources[pod.kind], pod.count)
			if len(pod.models) > 0 {
				var names []string
				for _, m := range pod.models {
					names = append(names, m+pod.kind)
				}
				annotation = fmt.Sprintf(`, volcano.sh/card.name: "%s"`, strings.Join(names, "|"))
			}
		}
		r.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: team, uid: %[1]s-%[2]d, %[3]sannotations: {scheduling.k8s.io/group-name: %[1]s%[4]s}}, spec: {schedulerName: volcano, nodeSelector: {gang: %[1]s}, containers: [{name: main, image: training, resources: {requests: {cpu: "%[5]d"}%[6]s}}]}}`, name, p, labels, annotation, pod.cpu, limits)
	}
}

// TestAGangRunsIfThereAreCardsForItsGroups compares which gangs start with a search that tries everything.
func TestAGangRunsIfThereAreCardsForItsGroups(t *testing.T) {
	runs, waits, drawn := 0, 0, clusters(4)
	for seed := range drawn {
		random, r := rand.New(rand.NewPCG(seed, 7)), &racks{}
		r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
		r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
		var all []*cardGang
		for i := range 30 {
			all = append(all, drawCards(random))
			r.cardGang(fmt.Sprint("gang-", i), all[i])
		}
		out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, why := map[string]int{}, map[string]string{}
		for _, w := range out.Workloads {
			got[w.Name] += len(w.Pods)
			why[w.Name] = fmt.Sprintf("%+v", w.Why)
		}
		for i, g := range all {
			name := fmt.Sprint("gang-", i)
			if g.starts() {
				runs++
				if got[name] < g.minimum {
					t.Errorf("seed %d: %d pods of %s run, want at least %d: %+v\n%s", seed, got[name], name, g.minimum, g, why[name])
				}
			} else if waits++; got[name] > 0 {
				t.Errorf("seed %d: %d pods of %s run, want none: %+v", seed, got[name], name, g)
			}
		}
	}
	if fewest := uint64(min(runs, waits)); fewest < 5*drawn {
		t.Errorf("%d gangs run, and %d wait: these are no interesting cases", runs, waits)
	}
}
