// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestJobsWithoutPodsRequestWhatTheyNeed follows a job of four pods, two with cards A or B and two with devices. It
// follows the job from its first request for admission until its pods exist.
func TestJobsWithoutPodsRequestWhatTheyNeed(t *testing.T) {
	f := newFixture(t).queue("q", "root", quotaOf(`{"A": 1, "B": 1}`, 1))
	f.job("j", "q", "", "cpu=1")
	job := f.input.Jobs["ns/j"]
	task := job.Tasks["j"]
	job.DeleteTaskInfo(task)
	job.PodGroup.Status.Phase = scheduling.PodGroupPending
	ordinal := func(s *Snapshot, kind ledger.Kind, name string) ledger.Ordinal {
		return s.Dimensions.Ordinal(ledger.Dimension{Kind: kind, Name: name})
	}
	requested := func(s *Snapshot) string {
		q, _ := s.Ledger.Queue("q")
		var all []string
		for _, o := range []ledger.Ordinal{ordinal(s, ledger.Resource, "cpu"), ordinal(s, ledger.Card, "A"), ordinal(s, ledger.Card, "B"), ordinal(s, ledger.DeviceCount, "h100")} {
			all = append(all, s.Ledger.Balance(q, ledger.Request, o).String()+"+"+s.Ledger.Balance(q, ledger.Either, o).String())
		}
		return strings.Join(all, " ")
	}
	asks := func(s *Snapshot) {
		a, b, h100 := ordinal(s, ledger.Card, "A"), ordinal(s, ledger.Card, "B"), ordinal(s, ledger.DeviceCount, "h100")
		s.NoteNeeds(job, demand.Needs{
			Amounts: ledger.Amounts{{Dimension: ordinal(s, ledger.Resource, "cpu"), Amount: ledger.Units(4)}},
			Choices: []demand.Choice{{Pods: 2, Alternatives: []ledger.Amounts{{{Dimension: h100, Amount: ledger.Units(1)}}, nil}}},
			Splits:  []ledger.Split{{Shares: 2, Each: 3, Among: []ledger.Ordinal{a, b}}},
		})
	}
	for _, step := range []struct {
		name string
		do   func(*Snapshot)
		want string
	}{
		{"the job is new", asks, "0+0 0+0 0+0 0+0"},
		{"the job has asked once", asks, "4+0 0+6 0+6 0+2"},
		{"the job is admitted", func(*Snapshot) { job.PodGroup.Status.Phase = scheduling.PodGroupInqueue }, "4+0 0+6 0+6 0+2"},
		{"its pods do not exist yet", func(*Snapshot) { job.AddTaskInfo(task) }, "4+0 0+6 0+6 0+2"},
		{"a pod exists", func(*Snapshot) { delete(f.input.Jobs, "ns/j") }, "1+0 0+0 0+0 0+0"},
		{"the job is gone", func(*Snapshot) {}, "0+0 0+0 0+0 0+0"},
	} {
		s := f.take()
		if got := requested(s); got != step.want {
			t.Errorf("%s: requested are %s, want %s", step.name, got, step.want)
		}
		step.do(s)
	}
	if n := len(f.cache.notedNeeds); n != 0 {
		t.Errorf("%d jobs are remembered", n)
	}
}
