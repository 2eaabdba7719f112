// SPDX-License-Identifier: Apache-2.0

package members

import (
	"testing"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestGrantedWorkloadsThatNoClusterShowsYetAreTaken(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0), member("member2", 10, 0))
	w.open()
	granted := w.workload("granted", 7)
	w.grant(granted)
	for _, step := range []struct {
		name string
		do   func()
		// largest is the most that fits in one piece.
		largest int64
	}{
		{"it has no cluster yet, so that the other cluster is free", func() {}, 10},
		{"it has a cluster", func() { assign(granted, "member2") }, 10},
		{"the other cluster is full", func() { w.set(member("member1", 10, 10)) }, 3},
		{"the member accepts it", func() { apply(granted) }, 3},
		{"the cluster shows some of its pods", func() { w.set(member("member2", 10, 4)) }, 3},
		{"the cluster shows all of its pods", func() { w.set(member("member2", 10, 7)) }, 3},
		{"another workload ends there", func() { w.set(member("member2", 12, 7)) }, 5},
		{"it ends, and the cluster shows that", func() { granted.State.Finished = true; w.set(member("member2", 10, 0)) }, 10},
	} {
		w.now = w.now.Add(time.Second)
		step.do()
		s := w.open()
		if s.Fits(w.workload("x", step.largest)) != nil || s.Fits(w.workload("y", step.largest+1)) == nil {
			t.Errorf("%s: %d is not the most that fits", step.name, step.largest)
		}
	}
}

func TestPodsThatTheFiguresNeverShowAreMissingForALimitedTimeOnly(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0))
	w.open()
	granted := w.workload("granted", 7)
	w.grant(granted)
	assign(granted, "member1")
	w.now = w.now.Add(time.Hour)
	if w.fits(w.workload("x", 4)) == nil {
		t.Error("the member has not accepted it, and its pods may come at any time")
	}
	if due := w.open().Due(); !due.IsZero() {
		t.Errorf("a session is due at %s", due)
	}
	apply(granted)
	if due := w.open().Due(); !due.Equal(w.now.Add(settleTime)) {
		t.Errorf("a session is due at %s", due)
	}
	w.now = w.now.Add(settleTime - 1)
	if w.fits(w.workload("x", 4)) == nil {
		t.Error("its pods may not be in the figures yet")
	}
	w.now = w.now.Add(1)
	w.mustFit(w.workload("x", 4))
}

func TestADispatcherThatStartsTakesOldGrantsForShown(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		fits bool
	}{{"an old grant", time.Hour, true}, {"a new grant", time.Second, false}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, member("member1", 10, 5))
			granted := w.workload("granted", 5)
			w.grant(granted)
			assign(granted, "member1")
			apply(granted)
			w.now = w.now.Add(c.age)
			if refusal := w.fits(w.workload("x", 5)); (refusal == nil) != c.fits {
				t.Errorf("refusal %+v", refusal)
			}
		})
	}
}

func TestGrowthThatWasGrantedIsMissingAgain(t *testing.T) {
	w := newWorld(t, member("member1", 10, 4))
	granted := w.workload("granted", 4)
	w.grant(granted)
	assign(granted, "member1")
	apply(granted)
	w.now = w.now.Add(time.Hour)
	w.mustFit(w.workload("x", 6))
	granted.Needs.Largest = ledger.Amounts{{Dimension: w.dimensions.Ordinal(cpu), Amount: ledger.Units(7)}}
	granted.State.Hold = &binding.Hold{Reason: binding.Growing}
	w.mustFit(w.workload("x", 6))
	granted.State.Hold = nil
	w.mustNotFit(w.workload("x", 6), "no cluster can hold it in one piece: cluster member1 has <3> of <cpu> free, requested <6>"+remedy)
	w.set(member("member1", 10, 7))
	w.mustFit(w.workload("x", 3))
}

func TestAWorkloadThatIsTakenBackHoldsNoRoomInAdvance(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0))
	granted := w.workload("granted", 7)
	w.grant(granted)
	granted.State.Hold = &binding.Hold{Reason: binding.Returning}
	w.mustFit(w.workload("x", 10))
}

func TestArrivalsSurviveOtherDimensionsAndEndWithTheirWorkloads(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0))
	granted := w.workload("granted", 7)
	w.grant(granted)
	assign(granted, "member1")
	w.open()
	w.dimensions = &ledger.Dimensions{}
	w.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "X"})
	granted.Needs.Largest = nil
	w.need(granted, cpu, 7)
	w.mustNotFit(w.workload("x", 4), "no cluster can hold it in one piece: cluster member1 has <3> of <cpu> free, requested <4>"+remedy)
	w.workloads = nil
	w.open()
	if len(w.members.arrivals) != 0 {
		t.Errorf("arrivals are left: %v", w.members.arrivals)
	}
}

func TestClustersComeAndGoBetweenSessions(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0))
	job := w.workload("x", 7)
	w.mustFit(job)
	w.members.remove("member1")
	w.mustNotFit(job, "no cluster can hold it in one piece: there is no cluster: join one")
	w.set(member("member1", 10, 5))
	w.mustNotFit(job, "no cluster can hold it in one piece: cluster member1 has <5> of <cpu> free, requested <7>"+remedy)
	w.set(member("member0", 10, 3))
	w.mustFit(job)
}
