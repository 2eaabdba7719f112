// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// mirror pairs a ledger with a plain ledger without pipelined and releasing holders. The plain ledger charges pipelined
// holders like others. A view of it has the charges of releasing holders.
type mirror struct {
	ledger, plain *Ledger
	// parts has each part in the ledger, plainParts the same part in the plain ledger.
	parts, plainParts []*Part
	releasing         map[int]hold
	// ofResources says that one dimension is a resource.
	ofResources bool
	// holds lists the holders of each part, payer first.
	holds map[int][]hold
}

func newMirror(s *script) *mirror {
	var dimensions Dimensions
	names, ofResources := modelDimensions, s.below(3) == 0
	if !ofResources { // releasing resources count differently, see TestWhatIsReleasedOnNodesIsNotCountedTwice
		names[0] = Dimension{Kind: DeviceCount, Name: "a100"}
	}
	for _, d := range names {
		dimensions.Ordinal(d)
	}
	var specs []QueueSpec
	for i := range 2 + s.below(6) {
		spec := QueueSpec{Name: fmt.Sprint("q", i)}
		if i > 0 && s.below(4) > 0 {
			spec.Parent = fmt.Sprint("q", s.below(i))
		}
		_, spec.Capability = numbers(s, 25, -1)
		_, spec.Deserved = numbers(s, 15, -1)
		_, spec.Guarantee = numbers(s, 5, 0)
		specs = append(specs, spec)
	}
	total := Amounts{{0, Units(int64(s.below(40)))}}
	m := &mirror{ofResources: ofResources, releasing: map[int]hold{}, holds: map[int][]hold{}}
	m.ledger, _ = New(&dimensions, total, specs)
	m.plain, _ = New(&dimensions, total, specs)
	for range 6 {
		as := amountsOf(pair{int64(s.below(5)), int64(s.below(5))})
		m.parts, m.plainParts = append(m.parts, NewPart(as)), append(m.plainParts, NewPart(as))
	}
	return m
}

// step changes both ledgers. It does not amend in a view.
func (m *mirror) step(t *testing.T, s *script, inView bool) {
	i := s.below(len(m.parts))
	h := hold{holder: Holder(fmt.Sprint("pod", s.below(4))), queue: QueueID(s.below(len(m.ledger.queues)))}
	var err, plainErr error
	switch s.below(7) {
	case 0, 1:
		h.pipelined = s.below(2) == 0
		charge := m.ledger.Charge
		if h.pipelined {
			charge = m.ledger.Pipeline
		}
		err = charge(h.queue, h.holder, Demand{m.parts[i]})
		h.queue = m.charged(i, h.queue)
		plainErr = m.plain.Charge(h.queue, h.holder, Demand{m.plainParts[i]})
		if !slices.ContainsFunc(m.holds[i], func(other hold) bool { return other.holder == h.holder }) {
			m.holds[i] = append(slices.Clip(m.holds[i]), h)
		}
	case 2, 3:
		err, plainErr = m.ledger.Release(m.parts[i], h.holder), m.plain.Release(m.plainParts[i], h.holder)
		m.holds[i] = slices.DeleteFunc(slices.Clone(m.holds[i]), func(other hold) bool { return other.holder == h.holder })
	case 4:
		err = m.ledger.Retain(h.queue, h.holder, m.parts[i])
		if !m.plain.Charged(m.plainParts[i]) {
			m.releasing[i] = h
		}
	case 5:
		err = m.ledger.Forget(m.parts[i])
		delete(m.releasing, i)
	case 6:
		if !inView {
			as := amountsOf(pair{int64(s.below(5)), int64(s.below(5))})
			err, plainErr = m.ledger.Amend(m.parts[i], as), m.plain.Amend(m.plainParts[i], as)
		}
	}
	if (err == nil) != (plainErr == nil) {
		t.Fatalf("error %v, without releasing holders %v", err, plainErr)
	}
}

// charged returns the queue that a part is charged to when a holder of the given queue joins.
func (m *mirror) charged(part int, joining QueueID) QueueID {
	if holds := m.holds[part]; len(holds) > 0 {
		return holds[0].queue
	}
	if leaving, found := m.releasing[part]; found {
		return leaving.queue
	}
	return joining
}

// plainHeld returns a view with the charges of releasing holders.
func (m *mirror) plainHeld(t *testing.T) *Ledger {
	view := m.plain.View()
	for i, h := range m.releasing {
		if err := view.Charge(h.queue, h.holder, Demand{m.plainParts[i]}); err != nil {
			t.Fatal(err)
		}
	}
	return view
}

func (m *mirror) check(t *testing.T, held *Ledger) {
	t.Helper()
	m.compare(t, m.ledger, m.plain)
	plainHeld := m.plainHeld(t)
	if !m.ofResources {
		m.compare(t, held, plainHeld)
	}
	for q := range m.ledger.queues {
		for o := range Ordinal(2) {
			id := QueueID(q)
			promised := Amount{}
			for i, holds := range m.holds {
				if len(holds) > 0 && holds[0].pipelined && m.ledger.Within(holds[0].queue, id) {
					promised, _ = promised.Add(m.parts[i].Of(o))
				}
			}
			if got := m.ledger.Balance(id, Pipelined, o); got != promised {
				t.Fatalf("queue %d: %s of %d promised, want %s", q, got, o, promised)
			}
			if got, want := m.ledger.Balance(id, Allocated, o), mustSub(t, m.plain.Balance(id, Allocated, o), promised); got != want {
				t.Fatalf("queue %d: %s of %d allocated, want %s", q, got, o, want)
			}
			if got, want := held.Balance(id, Allocated, o), mustSub(t, plainHeld.Balance(id, Allocated, o), promised); got != want {
				t.Fatalf("queue %d: %s of %d held, want %s", q, got, o, want)
			}
		}
	}
}

func (m *mirror) compare(t *testing.T, l, plain *Ledger) {
	t.Helper()
	for q := range l.queues {
		id := QueueID(q)
		got, want := m.answers(l, id, m.parts), m.answers(plain, id, m.plainParts)
		if got != want {
			t.Fatalf("queue %d:\n%s\nwant\n%s\nthe ledger\n%s", q, got, want, l.Describe(m.parts...))
		}
	}
}

// answers returns the answers of a ledger about a queue and all parts, as text.
func (m *mirror) answers(l *Ledger, q QueueID, parts []*Part) string {
	var text string
	say := func(values ...any) { text += fmt.Sprintln(values...) }
	for i, p := range parts {
		d := Demand{p, parts[(i+1)%len(parts)]}
		refusal, err := l.Fits(q, d)
		say(i, "fits", refusal, err, l.FitsAlone(q, d), "may reclaim", l.MayReclaim(q, d))
		payer, holder, charged := l.Payer(p)
		say(payer, holder, charged, l.Charged(p))
		by, tight := l.Bottleneck(q, d)
		say(by, tight, l.MayLose(q, p.Amounts()))
		choice, refusal, err := l.Choose(q, Demand{p, NewPart(Amounts{{0, Units(1)}}, Amounts{{1, Units(4)}}, Amounts{{1, Units(2)}})})
		say(choice, refusal, err)
		refusal, err = l.FitsInqueue(q, p.Amounts())
		say(refusal, err)
	}
	for o := range Ordinal(2) {
		available, err := l.Available(q, o)
		say(o, available, err)
	}
	say(l.usedShare(q))
	return text
}

func TestHeldAgreesWithAViewThatIsChargedAnew(t *testing.T) {
	for seed := byte(0); seed < 30; seed++ {
		random := rand.NewChaCha8([32]byte{seed})
		bytes := make([]byte, 400)
		_, _ = random.Read(bytes)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playMirror(t, bytes) })
	}
}

func FuzzHeld(f *testing.F) {
	f.Add([]byte("pods come and go"))
	f.Fuzz(func(t *testing.T, bytes []byte) { playMirror(t, bytes[:min(len(bytes), 1000)]) })
}

func playMirror(t *testing.T, bytes []byte) {
	s := script(bytes)
	m := newMirror(&s)
	held := m.ledger.Held()
	for len(s) > 0 {
		m.step(t, &s, false)
		m.check(t, held)
		if s.below(8) > 0 {
			continue
		}
		before := m.ledger.Describe(m.parts...) + held.Describe(m.parts...)
		view := *m
		view.ledger, view.plain = m.ledger.View(), m.plain.View()
		view.releasing, view.holds = map[int]hold{}, map[int][]hold{}
		for i, h := range m.releasing {
			view.releasing[i] = h
		}
		for i, holds := range m.holds {
			view.holds[i] = holds
		}
		ofView := view.ledger.Held()
		for range s.below(6) {
			view.step(t, &s, true)
			view.check(t, ofView)
		}
		if after := m.ledger.Describe(m.parts...) + held.Describe(m.parts...); after != before {
			t.Fatalf("a view changed its base from\n%s\nto\n%s", before, after)
		}
	}
}
