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

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	midnight = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	gpu      = ledger.Dimension{Kind: ledger.DeviceCount, Name: "gpu"}
)

const day = 24 * time.Hour

func used(queue string) accounting.Series {
	return accounting.Series{Queue: queue, Dimension: gpu, Namespace: "ns"}
}

// recorded returns what the server has of a queue, as a reader of the record sees it.
func (s *server) recorded(t testing.TB, queue string) map[string]string {
	sums := map[string]string{}
	through := s.checkpoints[v1alpha1.CheckpointName].Spec.Through.Unix()
	for name, record := range s.records {
		if record.Spec.Queue != queue {
			continue
		}
		all, err := Sums(record, through)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range all {
			sums[name] = sum.Before.String() + "+" + sum.Seconds.String()
		}
	}
	return sums
}

func increment(begin, end time.Time, queues map[string]int64) *accounting.Increment {
	i := &accounting.Increment{Start: begin.Truncate(day), End: begin.Truncate(day).Add(day), Through: end, Added: accounting.Sums{}}
	for queue, n := range queues {
		i.Added.Add(used(queue), ledger.Units(n))
	}
	return i
}

func load(t *testing.T, s *server) *Store {
	t.Helper()
	loaded := New(s.client(), "", 30*day)
	if _, err := loaded.Load(t.Context(), midnight); err != nil {
		t.Fatal(err)
	}
	return loaded
}

func write(t *testing.T, s *Store, i *accounting.Increment) {
	t.Helper()
	if err := s.Write(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

func TestWriteNextPeriodGoesOnWithAllSums(t *testing.T) {
	s := newServer()
	write(t, load(t, s), increment(midnight, midnight.Add(time.Hour), map[string]int64{"q": 5}))
	second := load(t, s)
	write(t, second, increment(midnight.Add(time.Hour), midnight.Add(day), map[string]int64{"q": 2}))
	write(t, second, increment(midnight.Add(day), midnight.Add(day+time.Hour), map[string]int64{"q": 3}))
	want := map[string]string{"q.2026-11-22": "0+7", "q.2026-11-23": "7+3"}
	if diff := cmp.Diff(want, s.recorded(t, "q")); diff != "" {
		t.Error(diff)
	}
}

func TestWriteReplacesWhatAnotherProcessDidNotFinish(t *testing.T) {
	s := newServer()
	crashed := load(t, s)
	write(t, crashed, increment(midnight, midnight.Add(time.Hour), map[string]int64{"q": 5, "r": 1}))
	unfinished := increment(midnight.Add(time.Hour), midnight.Add(2*time.Hour), map[string]int64{"q": 100})
	record := crashed.queues["q"]
	if _, err := crashed.put(t.Context(), "q", record, unfinished, unfinished.Added); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"q.2026-11-22": "0+5"}, s.recorded(t, "q")); diff != "" {
		t.Error("before the next process:", diff)
	}
	write(t, load(t, s), increment(midnight.Add(time.Hour), midnight.Add(3*time.Hour), map[string]int64{"r": 1}))
	if diff := cmp.Diff(map[string]string{"q.2026-11-22": "0+5"}, s.recorded(t, "q")); diff != "" {
		t.Error("after it:", diff)
	}
}

func TestWriteNoticesAnotherWriter(t *testing.T) {
	s := newServer()
	one, other := load(t, s), load(t, s)
	write(t, other, increment(midnight, midnight.Add(time.Hour), map[string]int64{"q": 5}))
	if err := one.Write(t.Context(), increment(midnight, midnight.Add(time.Minute), map[string]int64{"q": 1})); err == nil || !strings.Contains(err.Error(), ErrOtherWriter.Error()) {
		t.Fatal(err)
	}
}

func TestWriteKeepsWhatOthersSay(t *testing.T) {
	s := newServer()
	writer := load(t, s)
	write(t, writer, increment(midnight, midnight.Add(time.Hour), map[string]int64{"q": 5}))
	edited := s.records["q.2026-11-22"]
	edited.Labels, edited.ResourceVersion = map[string]string{"team": "a"}, "edited"
	s.checkpoints[v1alpha1.CheckpointName].ResourceVersion = "edited"
	write(t, writer, increment(midnight.Add(time.Hour), midnight.Add(2*time.Hour), map[string]int64{"q": 5}))
	if s.records["q.2026-11-22"].Labels["team"] != "a" {
		t.Error("the label is gone")
	}
	delete(s.records, "q.2026-11-22")
	write(t, writer, increment(midnight.Add(2*time.Hour), midnight.Add(3*time.Hour), map[string]int64{"q": 5}))
	if diff := cmp.Diff(map[string]string{"q.2026-11-22": "0+15"}, s.recorded(t, "q")); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteOldKeepsTheLatestRecordOfAQueue(t *testing.T) {
	s := newServer()
	writer := load(t, s)
	write(t, writer, increment(midnight, midnight.Add(day), map[string]int64{"q": 5, "r": 1}))
	write(t, writer, increment(midnight.Add(day), midnight.Add(2*day), map[string]int64{"q": 5}))
	write(t, writer, increment(midnight.Add(40*day), midnight.Add(41*day), nil))
	if err := writer.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"q.2026-11-23": "5+5"}, s.recorded(t, "q")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"r.2026-11-22": "0+1"}, s.recorded(t, "r")); diff != "" {
		t.Error(diff)
	}
}

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
	writer.Totals(func(series accounting.Series, amount ledger.Amount) {
		sum, _ = sum.Add(amount)
		if series.Namespace == accounting.Other && series.Label == accounting.Other {
			others, _ = others.Add(amount)
		}
	})
	if sum != ledger.Units(5000) || others != ledger.Units(4000) {
		t.Errorf("%s in all, %s others", sum, others)
	}
}

// TestSeriesThatDoNotGrowAreForgotten: a user who once made many labels does not keep those that come later from being told apart.
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
	writer.Totals(func(series accounting.Series, amount ledger.Amount) {
		got[series.Label] = amount.String()
	})
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
	writer.Totals(func(series accounting.Series, amount ledger.Amount) {
		if series.Namespace == "team-b" || series.Label == accounting.Other {
			got[series.Namespace+"/"+series.Label] = amount.String()
		}
	})
	want := map[string]string{"bomb/other": "4200"}
	for n := range fewSeries {
		want[fmt.Sprint("team-b/label-", n)] = "1"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNamesThatTheAPIServerDoesNotAcceptAreShortened: they would keep the record of all queues from being written.
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

func TestNameOf(t *testing.T) {
	long := strings.Repeat("q", 252)
	for _, test := range []struct {
		name  string
		queue string
		end   time.Time
		want  string
	}{
		{"names the day", "team-a", midnight.Add(day), "team-a.2026-11-22"},
		{"names the hour of a shorter period", "team-a", midnight.Add(6 * time.Hour), "team-a.2026-11-22t00"},
	} {
		if got := NameOf(test.queue, midnight, test.end); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
	one, other := NameOf(long+"a", midnight, midnight.Add(day)), NameOf(long+"b", midnight, midnight.Add(day))
	if one == other || len(one) > maxName {
		t.Error("long names:", one, other)
	}
}
