// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestRecordsAreBounded(t *testing.T) {
	s := newServer()
	writer := load(t, s)
	i := increment(midnight, midnight.Add(time.Hour), nil)
	long := strings.Repeat("x", 50)
	for n := range 5000 {
		d := ledger.Dimension{Kind: ledger.DeviceCapacity, Name: fmt.Sprintf("class-%d.%s", n%2, strings.Repeat("c", 200)), Capacity: strings.Repeat("m", 100)}
		i.Added.Add(accounting.Series{Queue: "q", Dimension: d, Namespace: fmt.Sprint("ns-", n, long), Label: fmt.Sprint("team-", n, long)}, ledger.Units(1))
	}
	write(t, writer, i)
	record := s.records["q.2026-11-22"]
	text, err := json.Marshal(record)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("%d bytes, error %v", len(text), err)
	}
	var sum, others ledger.Amount
	for series, amount := range writer.Totals {
		sum, _ = sum.Add(amount)
		if series.Namespace == accounting.Other && series.Label == accounting.Other {
			others, _ = others.Add(amount)
		}
	}
	if sum != ledger.Units(5000) || others != ledger.Units(4000) {
		t.Errorf("%s in all, %s others", sum, others)
	}
}

// TestSeriesThatDoNotGrowAreForgotten: a user's former labels must not take the room of new labels.
func TestSeriesThatDoNotGrowAreForgotten(t *testing.T) {
	labelled := func(label string) accounting.Series {
		series := used("q")
		series.Label = label
		return series
	}
	s := newServer()
	writer := load(t, s)
	bomb := increment(midnight, midnight.Add(day), map[string]int64{"q": 1})
	for n := range manySeries {
		bomb.Added.Add(labelled(fmt.Sprint("bomb-", n)), ledger.Units(1))
	}
	write(t, writer, bomb)
	for n := 1; n <= 32; n++ { // two days longer than the retention
		begin := midnight.Add(time.Duration(n) * day)
		next := increment(begin, begin.Add(day), map[string]int64{"q": 1})
		next.Added.Add(labelled(fmt.Sprint("new-", n)), ledger.Units(1))
		write(t, writer, next)
		if n%10 == 0 { // another process takes over
			writer = load(t, s)
		}
	}
	got := map[string]string{}
	for series, amount := range writer.Totals {
		got[series.Label] = amount.String()
	}
	want := map[string]string{"": "33", accounting.Other: fmt.Sprint(forOthers + 31), "new-31": "1", "new-32": "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLabelsOfOneNamespaceLeaveRoomForOthers(t *testing.T) {
	of := func(namespace, label string) accounting.Series {
		series := used("default")
		series.Namespace, series.Label = namespace, label
		return series
	}
	writer := load(t, newServer())
	bomb := increment(midnight, midnight.Add(time.Hour), nil)
	for n := range 5000 {
		bomb.Added.Add(of("bomb", fmt.Sprint("label-", n)), ledger.Units(1))
	}
	write(t, writer, bomb)
	next := increment(midnight.Add(time.Hour), midnight.Add(2*time.Hour), nil)
	for n := range fewSeries {
		next.Added.Add(of("team-b", fmt.Sprint("label-", n)), ledger.Units(1))
	}
	write(t, writer, next)
	got := map[string]string{}
	for series, amount := range writer.Totals {
		if series.Namespace == "team-b" || series.Label == accounting.Other {
			got[series.Namespace+"/"+series.Label] = amount.String()
		}
	}
	want := map[string]string{"bomb/other": "4200"}
	for n := range fewSeries {
		want[fmt.Sprint("team-b/label-", n)] = "1"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNamesThatTheAPIServerDoesNotAcceptAreShortened: one of them would prevent writes of the record of all queues.
func TestNamesThatTheAPIServerDoesNotAcceptAreShortened(t *testing.T) {
	s := newServer()
	writer := load(t, s)
	for n := range 2 {
		begin := midnight.Add(time.Duration(n) * time.Hour)
		i := increment(begin, begin.Add(time.Hour), nil)
		for _, ending := range []string{"a", "b"} {
			for _, d := range []ledger.Dimension{
				{Kind: ledger.Card, Name: strings.Repeat("é", 300) + ending},
				{Kind: ledger.DeviceCapacity, Name: strings.Repeat("c", 253), Capacity: strings.Repeat("m", 300) + ending},
				{Kind: ledger.Resource, Name: strings.Repeat("r", 400) + ending},
			} {
				i.Added.Add(accounting.Series{Measure: accounting.GuaranteedIdle, Queue: "q", Dimension: d}, ledger.Units(1))
			}
		}
		write(t, writer, i)
	}
	entries := s.records["q.2026-11-22"].Spec.Series
	if len(entries) != 6 {
		t.Errorf("%d series", len(entries))
	}
	for _, e := range entries {
		if len(e.Card) > 253 || len(e.Capacity) > 253 || len(e.Resource) > 317 || !utf8.ValidString(e.Card) || e.Seconds != "2" {
			t.Errorf("%+v", e)
		}
	}
}
