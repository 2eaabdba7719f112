// SPDX-License-Identifier: Apache-2.0

package accounting

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// life is a random holder. It begins, may move once to another queue, and ends.
type life struct {
	key                Key
	n                  int64
	begin, move, end   int64
	first, then        string
	known, knowsItsEnd bool // known by the last session of this process
}

func (l *life) queueAt(second int64) string {
	if second >= l.move {
		return l.then
	}
	return l.first
}

// model tells for each second which queue pays for each holder. It computes the seconds one by one.
type model struct {
	through  int64
	recorded map[string]int64
	// later has the current process' knowledge about seconds that are not recorded.
	later map[int64]map[Key]string
}

func (m *model) note(second int64, key Key, queue string) {
	if second < m.through {
		return
	}
	if m.later[second] == nil {
		m.later[second] = map[Key]string{}
	}
	m.later[second][key] = queue
}

func (m *model) record(to int64, lives map[Key]*life) {
	for ; m.through < to; m.through++ {
		for key, queue := range m.later[m.through] {
			m.recorded[queue] += lives[key].n
		}
		delete(m.later, m.through)
	}
}

// observe records the observation of a session, given the time of the process' last session.
func (m *model) observe(last, now int64, l *life) {
	alive := l.begin <= now && now < l.end
	switch {
	case alive && !l.known:
		for second := l.begin; second < now; second++ {
			m.note(second, l.key, l.queueAt(now))
		}
		l.known = true
	case l.known:
		to := now
		if !alive && l.knowsItsEnd {
			to = l.end
		}
		for second := last; second < to; second++ {
			m.note(second, l.key, l.queueAt(last))
		}
		l.known = alive
	}
}

func TestCrashesNeitherLoseNorDouble(t *testing.T) {
	for seed := range uint64(2000) {
		if diff := liveWithCrashes(rand.New(rand.NewPCG(seed, 1))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func liveWithCrashes(random *rand.Rand) string {
	w := newWorld()
	lives, ends := map[Key]*life{}, map[Key]int64{}
	for i := range 6 {
		l := &life{key: Key(fmt.Sprint("holder-", i)), n: 1 + random.Int64N(4), first: "a", then: "b", knowsItsEnd: random.IntN(2) == 0}
		l.begin = random.Int64N(150)
		l.move, l.end = l.begin+random.Int64N(150), l.begin+1+random.Int64N(150)
		lives[l.key] = l
		if l.knowsItsEnd {
			ends[l.key] = l.end
		}
	}
	m := &model{recorded: map[string]int64{}, later: map[int64]map[Key]string{}}
	recorded := Sums{}
	last := int64(0)
	for now := int64(0); now < 400; now += 1 + random.Int64N(9) { // a session ends within the lag
		var all []holds
		for _, l := range lives {
			m.observe(last, now, l)
			if l.known {
				all = append(all, holds{l.key, l.queueAt(now), l.n, l.begin})
			}
		}
		last = now
		w.session(now, ends, all...)
		switch random.IntN(4) {
		case 0: // the writer records
			if increment := w.Cut(Lag); increment != nil {
				for series, amount := range increment.Added {
					recorded.Add(series, amount)
				}
				m.record(increment.Through.Unix()-midnight.Unix(), lives)
			}
		case 1: // the process crashes, perhaps while it writes
			if random.IntN(2) == 0 {
				w.Cut(Lag)
			}
			w.Account = New(w.period)
			w.Resume(at(m.through))
			clear(m.later)
			for _, l := range lives {
				l.known = false
			}
		}
	}
	got := map[string]int64{}
	for series, amount := range recorded {
		got[series.Queue] += amount.Shares(1, 1<<40)
	}
	return cmp.Diff(m.recorded, got)
}
