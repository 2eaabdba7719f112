// SPDX-License-Identifier: Apache-2.0

package accounting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/devicequota/devicequota/pkg/ledger"
)

var midnight = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func at(seconds int64) time.Time { return midnight.Add(time.Duration(seconds) * time.Second) }

// world is an account with the observations of sessions.
type world struct {
	*Account
	dimensions ledger.Dimensions
	gpu        ledger.Dimension
	parts      map[int64]ledger.Amounts
}

func newWorld() *world {
	w := &world{Account: New(Period(24 * time.Hour)), gpu: ledger.Dimension{Kind: ledger.DeviceCount, Name: "gpu"}, parts: map[int64]ledger.Amounts{}}
	w.Resume(midnight)
	return w
}

func (w *world) part(n int64) ledger.Amounts {
	if w.parts[n] == nil {
		w.parts[n] = ledger.Amounts{{Dimension: w.dimensions.Ordinal(w.gpu), Amount: ledger.Units(n)}}
	}
	return w.parts[n]
}

// holds is a holder of n devices in a queue.
type holds struct {
	key   Key
	queue string
	n     int64
	since int64
}

// unknown stands for an unknown begin of a holding.
const unknown = -1 << 40

func (w *world) session(now int64, ended map[Key]int64, all ...holds) {
	w.Observe(at(now), &w.dimensions, func(o *Observation) {
		for _, h := range all {
			if o.Continues(h.key, h.queue, "", w.part(h.n)) {
				continue
			}
			since := time.Time{}
			if h.since != unknown {
				since = at(h.since)
			}
			o.Hold(Holding{Key: h.key, Queue: h.queue, Namespace: "ns", Amounts: w.part(h.n), Since: since})
		}
	}, func(key Key, _, _ string) time.Time {
		if end, known := ended[key]; known {
			return at(end)
		}
		return time.Time{}
	})
}

// used returns the device-seconds of each queue in all available increments.
func (w *world) used() map[string]string {
	sums := Sums{}
	for increment := w.Cut(Lag); increment != nil; increment = w.Cut(Lag) {
		for series, amount := range increment.Added {
			sums.Add(Series{Queue: series.Queue, Dimension: series.Dimension}, amount)
		}
	}
	texts := map[string]string{}
	for series, amount := range sums {
		texts[series.Queue] = amount.String()
	}
	return texts
}

const lag = int64(Lag / time.Second)

func TestAccount(t *testing.T) {
	for _, test := range []struct {
		name string
		live func(*world)
		want map[string]string
	}{
		{"counts from when a holder began, not from when a session saw it", func(w *world) {
			w.session(1, nil)
			w.session(107, nil, holds{"a", "q", 8, 100})
			w.session(200+lag, nil, holds{"a", "q", 8, 100})
		}, map[string]string{"q": "800"}},
		{"counts up to when a pod finished, not up to when a session saw it", func(w *world) {
			w.session(100, nil, holds{"a", "q", 2, 100})
			w.session(157, map[Key]int64{"a": 150})
			w.session(300, nil)
		}, map[string]string{"q": "100"}},
		{"counts a holder that ended without a time up to the session that lacks it", func(w *world) {
			w.session(100, nil, holds{"a", "q", 1, 100})
			w.session(157, nil)
			w.session(300, nil)
		}, map[string]string{"q": "57"}},
		{"charges the queue that a holder moved to from then on", func(w *world) {
			w.session(100, nil, holds{"a", "from", 1, 100})
			w.session(130, nil, holds{"a", "to", 1, 100})
			w.session(200+lag, nil, holds{"a", "to", 1, 100})
		}, map[string]string{"from": "30", "to": "70"}},
		{"counts what a claim was amended to from then on", func(w *world) {
			w.session(100, nil, holds{"a", "q", 1, 100})
			w.session(110, nil, holds{"a", "q", 3, 100})
			w.session(120+lag, nil, holds{"a", "q", 3, 100})
		}, map[string]string{"q": "40"}},
		{"counts nothing twice if a session misses a holder", func(w *world) {
			w.session(100, nil, holds{"a", "q", 1, 100})
			w.session(110, nil)
			w.session(111, nil, holds{"a", "q", 1, 100})
			w.session(120+lag, nil, holds{"a", "q", 1, 100})
		}, map[string]string{"q": "20"}},
		{"goes on where the record ends", func(w *world) {
			w.session(100, nil, holds{"a", "q", 1, 50})
			w.used()
			w.Resume(at(90))
			w.session(300, nil, holds{"a", "q", 1, 50})
			w.session(400+lag, nil, holds{"a", "q", 1, 50})
		}, map[string]string{"q": "310"}},
		{"takes a holder without a beginning to be there since the record ended", func(w *world) {
			w.Resume(at(90))
			w.session(300, nil, holds{"a", "q", 1, unknown})
			w.session(390+lag, nil, holds{"a", "q", 1, unknown})
		}, map[string]string{"q": "300"}},
		{"takes a holder without a beginning that came later to begin when it was seen", func(w *world) {
			w.session(10, nil)
			w.session(300, nil, holds{"a", "q", 1, unknown})
			w.session(390+lag, nil, holds{"a", "q", 1, unknown})
		}, map[string]string{"q": "90"}},
		{"counts nothing while the clock is behind the record", func(w *world) {
			w.session(100+lag, nil, holds{"a", "q", 1, 0})
			w.used()
			w.session(40, nil, holds{"a", "q", 1, 0})
			w.session(120+lag, nil, holds{"a", "q", 1, 0})
		}, map[string]string{"q": "20"}},
		{"keeps what was counted of a pod of which it learns late that it had ended", func(w *world) {
			w.session(100+lag, nil, holds{"a", "q", 1, 0})
			w.used() // 100
			w.session(200, map[Key]int64{"a": 90})
			w.session(300, nil)
		}, map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			test.live(w)
			if diff := cmp.Diff(test.want, w.used()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIncrementsEndWithThePeriod(t *testing.T) {
	w := newWorld()
	const day = 24 * 3600
	w.session(day-5, nil, holds{"a", "q", 1, day - 5})
	w.session(3*day+lag, nil, holds{"a", "q", 1, day - 5})
	var got []string
	for increment := w.Cut(Lag); increment != nil; increment = w.Cut(Lag) {
		for _, amount := range increment.Added {
			got = append(got, increment.Start.Format(time.DateOnly)+" "+increment.End.Format(time.DateOnly)+" "+amount.String())
		}
	}
	want := []string{"2026-11-22 2026-11-23 5", "2026-11-23 2026-11-24 86400", "2026-11-24 2026-11-25 86400"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStatesCountAsLongAsTheyLast(t *testing.T) {
	w := newWorld()
	say := func(now, idle, waited int64) {
		w.Observe(at(now), &w.dimensions, func(o *Observation) {
			o.State(GuaranteedIdle, "q", w.gpu, ledger.Units(idle))
			o.State(Waited, "q", w.gpu, ledger.Units(waited))
		}, nil)
	}
	say(0, 2, 0)
	say(10, 1, 0)
	say(20, 1, 5)
	say(30, 0, 0)
	say(100, 0, 0)
	got := map[string]string{}
	for series, amount := range w.Cut(Lag).Added {
		got[series.Measure.String()] = amount.String()
	}
	if diff := cmp.Diff(map[string]string{"guaranteedIdle": "40", "waited": "50"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDimensionsMayBeInternedAnew(t *testing.T) {
	w := newWorld()
	w.session(0, nil, holds{"a", "q", 1, 0})
	w.dimensions, w.parts = ledger.Dimensions{}, map[int64]ledger.Amounts{}
	renewed := newWorld()
	renewed.Account = w.Account
	renewed.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "other"})
	renewed.session(50, nil, holds{"a", "q", 1, 0})
	renewed.session(100+lag, nil, holds{"a", "q", 1, 0})
	if diff := cmp.Diff(map[string]string{"q": "100"}, renewed.used()); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkUnchangedHoldings(b *testing.B) {
	w := newWorld()
	keys := make([]Key, 10_000)
	for i := range keys {
		keys[i] = Key("6b8f0a1e-6d0f-4c5e-9d0b-" + time.Unix(int64(i), 0).UTC().Format("150405.000000"))
	}
	part := w.part(8)
	observe := func(o *Observation) {
		for _, key := range keys {
			if !o.Continues(key, "q", "team", part) {
				o.Hold(Holding{Key: key, Queue: "q", Label: "team", Amounts: part, Since: midnight})
			}
		}
	}
	w.Observe(at(1), &w.dimensions, observe, nil)
	for now := int64(2); b.Loop(); now++ {
		w.Observe(at(now), &w.dimensions, observe, nil)
	}
}
