package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// model is the ledger as one would explain it on a napkin: it keeps who holds what since
// when, and recomputes every account from that.
type model struct {
	parents map[string]string
	limits  map[string]int64
	holds   []modelHold
}

type modelHold struct {
	key     Key
	holder  Holder
	queue   string
	devices int64
}

func (m *model) path(queue string) []string {
	var path []string
	for ; queue != ""; queue = m.parents[queue] {
		path = append(path, queue)
	}
	return path
}

// carrier is the first hold on a key: its queue carries the charge, its size counts.
func (m *model) carrier(key Key) (modelHold, bool) {
	i := slices.IndexFunc(m.holds, func(h modelHold) bool { return h.key == key })
	if i < 0 {
		return modelHold{}, false
	}
	return m.holds[i], true
}

func (m *model) allocated(queue string) int64 {
	var sum int64
	seen := map[Key]bool{}
	for _, h := range m.holds {
		if !seen[h.key] && slices.Contains(m.path(h.queue), queue) {
			sum += h.devices
		}
		seen[h.key] = true
	}
	return sum
}

func (m *model) fits(queue string, d Demand) bool {
	var asked int64
	seen := map[Key]bool{}
	for _, p := range d {
		if _, charged := m.carrier(p.Key); !charged && !seen[p.Key] {
			asked += whole(p.Amounts.Of(0))
		}
		seen[p.Key] = true
	}
	for _, q := range m.path(queue) {
		if limit, limited := m.limits[q]; limited && asked > 0 && m.allocated(q)+asked > limit {
			return false
		}
	}
	return true
}

func (m *model) charge(queue string, holder Holder, d Demand) {
	for _, p := range d {
		if slices.ContainsFunc(m.holds, func(h modelHold) bool { return h.key == p.Key && h.holder == holder }) {
			continue
		}
		devices := whole(p.Amounts.Of(0))
		if first, charged := m.carrier(p.Key); charged {
			devices = first.devices
		}
		m.holds = append(m.holds, modelHold{p.Key, holder, queue, devices})
	}
}

// release reports whether there was something to release.
func (m *model) release(key Key, holder Holder) bool {
	before := len(m.holds)
	m.holds = slices.DeleteFunc(m.holds, func(h modelHold) bool { return h.key == key && h.holder == holder })
	return len(m.holds) < before
}

func whole(a Amount) int64 {
	n := a.Nano()
	return n.Div(n, Units(1).Nano()).Int64()
}

// TestLedgerAgreesWithTheModel runs random operations on random trees and compares every
// decision and every account with the model's.
func TestLedgerAgreesWithTheModel(t *testing.T) {
	for seed := uint64(1); seed <= 200; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			checkAgainstModel(t, rand.New(rand.NewPCG(seed, seed)), 150)
		})
	}
}

func checkAgainstModel(t *testing.T, random *rand.Rand, steps int) {
	m := &model{parents: map[string]string{}, limits: map[string]int64{}}
	var specs []QueueSpec
	for i := range 1 + random.IntN(12) {
		name, parent := fmt.Sprint("q", i), ""
		if i > 0 && random.IntN(4) > 0 {
			parent = fmt.Sprint("q", random.IntN(i))
		}
		limit := int64(random.IntN(20)) - 5
		if limit >= 0 {
			m.limits[name] = limit
		}
		m.parents[name] = parent
		specs = append(specs, spec(name, parent, limit))
	}
	random.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	l := newLedger(t, specs...)
	for range steps {
		step(t, l, m, random, specs[random.IntN(len(specs))].Name)
		for _, s := range specs {
			if got, want := l.Allocated(l.id(t, s.Name), 0), Units(m.allocated(s.Name)); got != want {
				t.Fatalf("queue %s holds %s, the model %s", s.Name, got, want)
			}
		}
	}
	for _, h := range slices.Clone(m.holds) {
		l.mustRelease(t, h.key, h.holder)
	}
	for _, s := range specs {
		if got := l.Allocated(l.id(t, s.Name), 0); got != (Amount{}) {
			t.Fatalf("queue %s holds %s when everything is released", s.Name, got)
		}
	}
}

// step does one random thing to both.
func step(t *testing.T, l *Ledger, m *model, random *rand.Rand, queue string) {
	key, holder := Key(fmt.Sprint("claim", random.IntN(8))), Holder(fmt.Sprint("pod", random.IntN(4)))
	if random.IntN(3) == 0 {
		if got, want := l.Release(key, holder) == nil, m.release(key, holder); got != want {
			t.Fatalf("release of %s by %s: %t, the model says %t", key, holder, got, want)
		}
		return
	}
	var d Demand
	for range random.IntN(4) {
		d = append(d, devices(Key(fmt.Sprint("claim", random.IntN(8))), int64(random.IntN(6))))
	}
	_, fits, err := l.Fits(l.id(t, queue), d)
	if err != nil {
		t.Fatal(err)
	}
	if want := m.fits(queue, d); fits != want {
		t.Fatalf("%v in queue %s: fits %t, the model says %t", d, queue, fits, want)
	}
	if fits || random.IntN(5) == 0 {
		l.mustCharge(t, queue, holder, d...)
		m.charge(queue, holder, d)
	}
}
