// SPDX-License-Identifier: Apache-2.0

package accounting

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestSessionsThatSayOnlyWhatChangedLoseAndDoubleNoSecond(t *testing.T) {
	for seed := range uint64(2000) {
		if diff := liveWithChanges(rand.New(rand.NewPCG(seed, 2))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// liveWithChanges compares the count of an account with the lifetimes of holders. Sessions end every few seconds. They report only changes since
// the last session, unless a complete observation is due. Many holders live for less than the time between two complete observations.
func liveWithChanges(random *rand.Rand) string {
	w, recorded, want := newWorld(), Sums{}, map[string]int64{}
	lives := map[Key]*life{}
	for i := range 20 {
		l := &life{key: Key(fmt.Sprint("holder-", i)), n: 1 + random.Int64N(4), first: string(rune('a' + i%3))}
		l.begin = random.Int64N(200)
		l.end = l.begin + 1 + random.Int64N([]int64{5, 100}[random.IntN(2)])
		lives[l.key] = l
	}
	session := func(now int64) {
		var all, begun []holds
		for _, l := range lives {
			if l.known && l.end <= now {
				w.End(l.key, at(l.end))
				want[l.first] += l.n * (l.end - l.begin)
				delete(lives, l.key)
			} else if l.begin <= now && now < l.end {
				h := holds{l.key, l.first, l.n, l.begin}
				if all = append(all, h); !l.known {
					begun, l.known = append(begun, h), true
				}
			}
		}
		if w.Due(at(now), &w.dimensions) {
			w.session(now, nil, all...)
		} else {
			w.changes(now, begun...)
		}
	}
	now := int64(0)
	for ; now < 310; now += 1 + random.Int64N(3) {
		session(now)
		if random.IntN(4) == 0 {
			w.record(recorded)
		}
	}
	session(now + 1)
	session(now + 1 + lag)
	w.record(recorded)
	got := map[string]int64{}
	for series, amount := range recorded {
		got[series.Queue] += amount.Shares(1, 1<<40)
	}
	return cmp.Diff(want, got)
}

// changes is a session without a complete observation.
func (w *world) changes(now int64, some ...holds) {
	w.ObserveChanges(at(now), &w.dimensions, func(o *Observation) {
		for _, h := range some {
			o.Hold(Holding{Key: h.key, Queue: h.queue, Namespace: "ns", Amounts: w.part(h.n), Since: at(h.since)})
		}
	})
}

// record writes the missing increments.
func (w *world) record(recorded Sums) {
	for increment := w.Cut(Lag); increment != nil; increment = w.Cut(Lag) {
		for series, amount := range increment.Added {
			recorded.Add(series, amount)
		}
	}
}

func TestNothingIsRecordedThatWasNotObservedInFull(t *testing.T) {
	w := newWorld()
	w.session(100, nil, holds{"a", "q", 1, 90})
	var complete []int64
	for now := int64(101); now < 140; now++ {
		if w.Due(at(now), &w.dimensions) {
			complete = append(complete, now)
			w.session(now, nil, holds{"a", "q", 1, 90})
		} else {
			w.changes(now)
		}
		if increment := w.Cut(Lag); increment != nil && increment.Through.After(at(100+(now-100)/lag*lag)) {
			t.Errorf("the record is complete up to %s, although no session said everything later than %v", increment.Through.Format(time.TimeOnly), complete)
		}
	}
	if want := []int64{110, 120, 130}; !slices.Equal(complete, want) {
		t.Errorf("everything is observed at %v, want %v", complete, want)
	}
}

func TestACompleteObservationIsDueWhenItMustBe(t *testing.T) {
	for _, test := range []struct {
		name string
		at   int64
		live func(*world)
		want bool
	}{
		{"at the start", 100, func(*world) {}, true},
		{"soon after another one", 109, func(w *world) { w.session(100, nil) }, false},
		{"ten seconds later", 110, func(w *world) { w.session(100, nil) }, true},
		{"when the clock is set back", 90, func(w *world) { w.session(100, nil) }, true},
		{"when the record is read again", 101, func(w *world) { w.session(100, nil); w.Resume(at(50)) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			test.live(w)
			if got := w.Due(at(test.at), &w.dimensions); got != test.want {
				t.Errorf("due: %t", got)
			}
		})
	}
	w := newWorld()
	w.session(100, nil)
	if !w.Due(at(101), &ledger.Dimensions{}) {
		t.Error("nothing is due although dimensions have other ordinals")
	}
}

func TestChangesAreIgnoredWhileACompleteObservationIsDue(t *testing.T) {
	w := newWorld()
	w.changes(5, holds{"a", "q", 1, 0})
	if len(w.held) > 0 {
		t.Errorf("the account has %v before it knows all holders", slices.Collect(maps.Keys(w.held)))
	}
}
