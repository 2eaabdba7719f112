// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"strings"
	"testing"
	"time"

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

// recorded returns a reader's view of a queue's record.
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

func TestShorterPeriodsGoOnWithAllSums(t *testing.T) {
	s := newServer()
	write(t, load(t, s), increment(midnight, midnight.Add(time.Hour), map[string]int64{"q": 100}))
	for hour := range 3 {
		shorter := increment(midnight, midnight.Add(time.Duration(hour+2)*time.Hour), map[string]int64{"q": 10})
		shorter.Start, shorter.End = shorter.Through.Add(-time.Hour), shorter.Through
		write(t, load(t, s), shorter)
	}
	if total := maps.Collect(load(t, s).Totals)[used("q")]; total != ledger.Units(130) {
		t.Errorf("%s in all, want 130", total)
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
