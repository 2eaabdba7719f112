// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// script is a sequence of decisions from a fuzzer or a random generator. After its end, every decision is 0.
type script []byte

func (s *script) below(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := int((*s)[0])
	*s = (*s)[1:]
	return b % n
}

// TestLedgerAgreesWithTheModel runs random operations on random trees. It compares every decision and every account with the model.
func TestLedgerAgreesWithTheModel(t *testing.T) {
	for seed := byte(0); seed < 150; seed++ {
		random := rand.NewChaCha8([32]byte{seed})
		bytes := make([]byte, 1500)
		_, _ = random.Read(bytes)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { play(t, bytes) })
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte("a tree and some operations"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		play(t, bytes[:min(len(bytes), 2000)]) // longer scripts find nothing new
	})
}

// game pairs a ledger with the model that it must agree with.
type game struct {
	*Ledger
	model *model
	parts map[string]*Part
}

// play builds a tree and runs operations as the script decides.
func play(t *testing.T, bytes []byte) {
	s := script(bytes)
	g := set(t, &s)
	views := []game{}
	for len(s) > 0 {
		if s.below(8) == 0 {
			views = append(views, game{g.View(), g.model.clone(), g.parts})
			if len(views) > 1 && s.below(2) == 0 {
				views[len(views)-1] = game{views[0].View(), views[0].model.clone(), g.parts}
			}
			before := g.state()
			for range s.below(6) {
				views[s.below(len(views))].step(t, &s, false)
			}
			for _, view := range views {
				view.check(t)
			}
			if g.state() != before {
				t.Fatalf("a view changed its base from\n%sto\n%s", before, g.state())
			}
			continue
		}
		views = nil // the base changes
		g.step(t, &s, true)
		g.check(t)
	}
	for _, h := range slices.Clone(g.model.holds) {
		if err := g.Release(g.parts[h.part], h.holder); err != nil {
			t.Fatal(err)
		}
		g.model.release(h.part, h.holder)
	}
	g.check(t)
}

func (g game) state() string { return g.model.state(g.Ledger) }

func (g game) check(t *testing.T) {
	t.Helper()
	if got, want := g.state(), g.model.state(nil); got != want {
		t.Fatalf("the ledger says\n%sthe model\n%s", got, want)
	}
}

func set(t *testing.T, s *script) game {
	m := &model{
		total: int64(s.below(40)), parents: map[string]string{}, parts: map[string]pair{},
		capability: map[string]pair{}, deserved: map[string]pair{}, guarantee: map[string]pair{},
	}
	var dimensions Dimensions
	for _, d := range modelDimensions {
		dimensions.Ordinal(d)
	}
	var specs []QueueSpec
	for i := range 1 + s.below(9) {
		name, parent := fmt.Sprint("q", i), ""
		if i > 0 && s.below(4) > 0 {
			parent = fmt.Sprint("q", s.below(i))
		}
		m.queues, m.parents[name] = append(m.queues, name), parent
		spec := QueueSpec{Name: name, Parent: parent}
		m.capability[name], spec.Capability = numbers(s, 25, -1)
		m.deserved[name], spec.Deserved = numbers(s, 15, -1)
		m.guarantee[name], spec.Guarantee = numbers(s, 5, 0)
		specs = append(specs, spec)
	}
	if s.below(2) == 1 {
		slices.Reverse(specs)
	}
	g := game{model: m, parts: map[string]*Part{}}
	for i := range 8 {
		name := fmt.Sprint("part", i)
		m.parts[name] = pair{int64(s.below(5)), int64(s.below(5))}
		g.parts[name] = NewPart(amountsOf(m.parts[name]))
	}
	var aside []SetAside
	if g.Ledger, aside = New(&dimensions, Amounts{{0, Units(m.total)}}, specs); len(aside) > 0 {
		t.Fatalf("set aside: %v", aside)
	}
	g.check(t)
	return g
}

// numbers returns limits below n. The model represents an absent limit by the number absent.
func numbers(s *script, n int, absent int64) (pair, Amounts) {
	p, as := pair{absent, absent}, Amounts(nil)
	for d := range p {
		if s.below(2) == 1 {
			p[d] = int64(s.below(n))
			as = append(as, Entry{Ordinal(d), Units(p[d])})
		}
	}
	return p, as
}

func amountsOf(p pair) Amounts {
	return Amounts{{0, Units(p[0])}, {1, Units(p[1])}}
}

// step runs one operation on ledger and model, and compares their answers.
func (g game) step(t *testing.T, s *script, mayAdd bool) {
	queue := g.model.queues[s.below(len(g.model.queues))]
	holder := Holder(fmt.Sprint("pod", s.below(4)))
	names := slices.Sorted(maps.Keys(g.model.parts))
	switch action := s.below(6); {
	case action == 0:
		part := names[s.below(len(names))]
		if got, want := g.Release(g.parts[part], holder) == nil, g.model.release(part, holder); got != want {
			t.Fatalf("release of %s by %s: %t, the model says %t", part, holder, got, want)
		}
	case action == 1 && mayAdd:
		account, amounts := Account(1+s.below(3)), pair{int64(s.below(4)), int64(s.below(4))}
		g.model.add(queue, account, amounts)
		if err := g.Add(g.ids[queue], account, amountsOf(amounts)); err != nil {
			t.Fatal(err)
		}
	case action == 2:
		minimum := pair{int64(s.below(10)), int64(s.below(10))}
		r, err := g.FitsInqueue(g.ids[queue], amountsOf(minimum))
		g.compare(t, "enter", queue, r, err, g.model.refuses(g.model.path(queue), minimum, g.model.committed))
	default:
		var parts []string
		var d Demand
		for range s.below(4) {
			parts = append(parts, names[s.below(len(names))])
			d = append(d, g.parts[parts[len(parts)-1]])
		}
		g.try(t, queue, holder, parts, d, s.below(5) == 0)
	}
}

// try compares whether a demand fits. It charges the demand if it fits or if anyway is true.
func (g game) try(t *testing.T, queue string, holder Holder, parts []string, d Demand, anyway bool) {
	m, id := g.model, g.ids[queue]
	asked := m.asks(parts)
	r, err := g.Fits(id, d)
	g.compare(t, fmt.Sprint(parts, " in"), queue, r, err, m.refuses(m.path(queue), asked, m.allocated))

	bottleneck, tight := g.Bottleneck(id, d)
	if name := m.tight(m.path(queue)[1:], asked); tight != (name != "") || tight && g.Name(bottleneck) != name {
		t.Fatalf("bottleneck %t, the model says %q", tight, name)
	}
	if got, want := g.MayReclaim(id, d), m.mayReclaim(queue, asked); got != want {
		t.Fatalf("%v may be reclaimed for %s: %t, the model says %t", parts, queue, got, want)
	}
	freed := m.frees(holder, parts)
	amounts := g.Frees(holder, d)
	if amounts.Of(0) != Units(freed[0]) || amounts.Of(1) != Units(freed[1]) {
		t.Fatalf("%v would free %v, the model says %v", parts, amounts, freed)
	}
	if got, want := g.MayLose(id, amounts), m.mayLose(queue, freed); got != want {
		t.Fatalf("%s may lose %v: %t, the model says %t", queue, freed, got, want)
	}
	if r != nil && !anyway {
		return
	}
	if err := g.Charge(id, holder, d); err != nil {
		t.Fatal(err)
	}
	m.charge(queue, holder, parts)
}

// compare checks that a refusal names the same queue as the model, or none if want is empty. It also checks that the
// numbers of the refusal are consistent.
func (g game) compare(t *testing.T, what, queue string, r *Refusal, err error, want string) {
	t.Helper()
	if err != nil || (r == nil) != (want == "") || r != nil && r.Queue != want {
		t.Fatalf("%s %s: %v, error %v; the model says %q", what, queue, r, err, want)
	}
	if r != nil && (r.Requested.Sign() <= 0 || r.WouldBe.Cmp(mustSub(t, r.Limit, r.Guaranteed)) <= 0) {
		t.Fatalf("a refusal whose numbers do not refuse: %s", r)
	}
}

// FuzzNew builds graphs of any shape, with cycles and missing parents. The queues that are not set aside must form a tree.
func FuzzNew(f *testing.F) {
	f.Add([]byte{3, 1, 2, 0})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		bytes = bytes[:min(len(bytes), 200)]
		specs := make([]QueueSpec, len(bytes))
		for i, b := range bytes {
			specs[i].Name = fmt.Sprint("q", i)
			if b != 0 {
				specs[i].Parent = fmt.Sprint("q", int(b)%(len(bytes)+3)) // some do not exist
			}
		}
		l, aside := New(&Dimensions{}, nil, specs)
		if len(l.queues)+len(aside) != len(specs) {
			t.Fatalf("%d queues and %d set aside of %d", len(l.queues), len(aside), len(specs))
		}
		for i := range specs {
			q, found := l.Queue(specs[i].Name)
			if !found {
				continue
			}
			path := l.Path(q)
			if last, _ := l.Queue(path[len(path)-1]); l.queues[last].parent != none || len(path) != int(l.queues[q].depth)+1 {
				t.Fatalf("the path %v of queue %s does not lead to the top", path, specs[i].Name)
			}
			for j := range specs {
				if other, found := l.Queue(specs[j].Name); found {
					checkBranches(t, l, q, other)
				}
			}
		}
	})
}

// checkBranches compares the answers about two queues with their paths.
func checkBranches(t *testing.T, l *Ledger, a, b QueueID) {
	pathA, pathB := l.Path(a), l.Path(b)
	slices.Reverse(pathA)
	slices.Reverse(pathB)
	common := 0
	for common < min(len(pathA), len(pathB))-1 && pathA[common] == pathB[common] {
		common++
	}
	if got := l.CommonDepth(a, b); got != common {
		t.Fatalf("%v and %v share %d ancestors, got %d", pathA, pathB, common, got)
	}
	branchA, branchB := l.Branches(a, b)
	if l.Name(branchA) != pathA[common] || l.Name(branchB) != pathB[common] {
		t.Fatalf("%v and %v part at %s and %s", pathA, pathB, l.Name(branchA), l.Name(branchB))
	}
	if got, want := l.Within(a, b), slices.Contains(pathA, l.Name(b)); got != want {
		t.Fatalf("%v is within %s: %t", pathA, l.Name(b), got)
	}
}
