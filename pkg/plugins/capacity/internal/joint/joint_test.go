// SPDX-License-Identifier: Apache-2.0

package joint

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// gang is a random problem: the room of a node is a set of numbers of pods, with all smaller ones.
type gang struct {
	pods, least []int
	room        [][][]int
	// barred has the nodes that may have no pods of the first kind.
	barred []bool
	// most limits the sum of all pods of the first kind on nodes with an odd number, if it is not negative.
	most int
	// needs is the number of pods of the first kind that Accepts needs. It is above the minimum only if Accepts refines.
	needs   int
	refines bool
}

func randomGang(r *rand.Rand) *gang {
	g := &gang{pods: make([]int, 1+r.IntN(3)), room: make([][][]int, 1+r.IntN(4)), most: -1}
	g.least = make([]int, len(g.pods))
	for kind := range g.pods {
		g.pods[kind] = 1 + r.IntN(3)
		g.least[kind] = g.pods[kind] - r.IntN(2)*r.IntN(g.pods[kind]+1)
	}
	for node := range g.room {
		g.barred = append(g.barred, r.IntN(4) == 0)
		for range 1 + r.IntN(3) {
			corner := make([]int, len(g.pods))
			for kind := range corner {
				corner[kind] = r.IntN(3)
			}
			g.room[node] = append(g.room[node], corner)
		}
	}
	if r.IntN(3) == 0 {
		g.most = r.IntN(3)
	}
	if g.refines = r.IntN(4) == 0; g.refines {
		g.needs = r.IntN(4)
	}
	return g
}

func atMost(pods, room []int) bool {
	for kind := range pods {
		if pods[kind] > room[kind] {
			return false
		}
	}
	return true
}

func (g *gang) fits(node int, pods []int) bool {
	return !(g.barred[node] && pods[0] > 0) && slices.ContainsFunc(g.room[node], func(room []int) bool { return atMost(pods, room) })
}

func (g *gang) enough(pods []int) bool { return atMost(g.least, pods) }

func (g *gang) accepts(on [][]int) bool {
	odd, all := 0, 0
	for node := range on {
		odd += on[node][0] * (node % 2)
		all += on[node][0]
	}
	return (g.most < 0 || odd <= g.most) && all >= g.needs
}

func (g *gang) search() *Search {
	return &Search{
		Pods: g.pods, Nodes: len(g.room), Enough: g.enough, Refines: g.refines, Coupled: g.most >= 0,
		Suits: func(node, kind int) bool { return kind > 0 || !g.barred[node] },
		Fits:  func(node int, pods []int) (bool, error) { return g.fits(node, pods), nil },
		Step:  forever,
	}
}

// forever lets a search go on.
func forever(int) error { return nil }

// possible tries everything.
func (g *gang) possible(node int, on [][]int, placed []int) bool {
	if node == len(g.room) {
		return g.enough(placed) && g.accepts(on)
	}
	var choose func(kind int) bool
	choose = func(kind int) bool {
		if kind == len(g.pods) {
			return g.fits(node, on[node]) && g.possible(node+1, on, placed)
		}
		for n := range g.pods[kind] - placed[kind] + 1 {
			on[node][kind] = n
			placed[kind] += n
			found := choose(kind + 1)
			placed[kind] -= n
			if found {
				return true
			}
		}
		on[node][kind] = 0
		return false
	}
	return choose(0)
}

func TestASearchFindsNodesIfThereAreSome(t *testing.T) {
	found := 0
	for seed := range uint64(100_000) {
		g := randomGang(rand.New(rand.NewPCG(seed, 0)))
		on := make([][]int, len(g.room))
		for node := range on {
			on[node] = make([]int, len(g.pods))
		}
		want := g.possible(0, on, make([]int, len(g.pods)))
		var got [][]int
		search := g.search()
		search.Accepts = func(on [][]int) (bool, error) { got = on; return g.accepts(on), nil }
		if some, err := search.Run(); err != nil || some != want {
			t.Fatalf("seed %d: %+v: found %v, %v, want %v", seed, g, some, err, want)
		}
		if !want {
			continue
		}
		found++
		sum := make([]int, len(g.pods))
		for node := range got {
			if !g.fits(node, got[node]) {
				t.Fatalf("seed %d: %+v: node %d gets %v", seed, g, node, got[node])
			}
			for kind, n := range got[node] {
				sum[kind] += n
			}
		}
		if !g.enough(sum) || !atMost(sum, g.pods) || !g.accepts(got) {
			t.Fatalf("seed %d: %+v: got %v", seed, g, got)
		}
	}
	if found < 20_000 || found > 80_000 {
		t.Errorf("%d of 100000 gangs get nodes: the test shows little", found)
	}
}

func TestManyEqualPodsTakeOneQuestionForEachPlace(t *testing.T) {
	questions := 0
	s := Search{
		Pods: []int{1000}, Nodes: 1000,
		Fits:    func(_ int, pods []int) (bool, error) { questions++; return pods[0] <= 1, nil },
		Enough:  func(pods []int) bool { return pods[0] == 1000 },
		Accepts: func([][]int) (bool, error) { return true, nil },
		Step:    forever,
	}
	if found, err := s.Run(); !found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	if questions > 2000 {
		t.Errorf("%d questions", questions)
	}
	s.Pods[0], questions = 1001, 0
	s.Enough = func(pods []int) bool { return pods[0] == 1001 }
	if found, err := s.Run(); found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	if questions > 2000 {
		t.Errorf("%d questions in vain", questions)
	}
}

func TestASearchThatIsGivenUpFindsNothing(t *testing.T) {
	s := Search{
		Pods: []int{1}, Nodes: 1,
		Fits:   func(int, []int) (bool, error) { return true, ErrGivenUp },
		Enough: func(pods []int) bool { return pods[0] == 1 },
		Step:   forever,
	}
	if found, err := s.Run(); found || !errors.Is(err, ErrGivenUp) {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestASearchEndsAlthoughAllAnswersAreKnown: each of 18 nodes has room for one of 20 pods, which all differ. There are 2^20 sets of pods.
func TestASearchEndsAlthoughAllAnswersAreKnown(t *testing.T) {
	steps, sets := 0, 0
	s := Search{
		Pods: slices.Repeat([]int{1}, 20), Nodes: 18,
		Fits:   func(_ int, pods []int) (bool, error) { return sum(pods) <= 1, nil },
		Enough: func(pods []int) bool { sets++; return sum(pods) == 20 },
		Step: func(n int) error {
			if steps += n; steps > 10_000 {
				return ErrGivenUp
			}
			return nil
		},
	}
	if found, err := s.Run(); found || !errors.Is(err, ErrGivenUp) || sets > 10_000 {
		t.Errorf("found %v, %v, after %d sets", found, err, sets)
	}
}

func sum(pods []int) (n int) {
	for _, of := range pods {
		n += of
	}
	return n
}

// TestAStepIsShortHoweverManyKindsThereAre: each question is about all kinds.
func TestAStepIsShortHoweverManyKindsThereAre(t *testing.T) {
	const kinds, most = 5000, 50_000
	steps, looked := 0, 0
	s := Search{
		Pods: slices.Repeat([]int{1}, kinds), Nodes: 3,
		Fits:   func(_ int, pods []int) (bool, error) { looked += len(pods); return sum(pods) <= kinds/4, nil },
		Enough: func(pods []int) bool { looked += len(pods); return sum(pods) == kinds },
		Step: func(n int) error {
			if steps += n; steps > most {
				return ErrGivenUp
			}
			return nil
		},
	}
	if found, err := s.Run(); found || !errors.Is(err, ErrGivenUp) {
		t.Fatalf("found %v, %v", found, err)
	}
	if looked > most*kindsOfStep {
		t.Errorf("%d kinds were looked at in %d steps", looked, most)
	}
}
