// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// open returns a session without plugins. The names first and second represent plugins of two tiers.
func open() *Session {
	s := Open(&Config{}, &Snapshot{})
	s.names = []string{"first", "second"}
	return s
}

func named(name string, created int) *Workload {
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	return &Workload{Binding: rb, Created: time.Unix(int64(created), 0)}
}

func TestTheFirstTierWithAnOpinionDecidesTheOrder(t *testing.T) {
	s := open()
	opinion := 0
	s.AddJobOrderFn("second", func(_, _ *Workload) int { return 1 })
	s.AddJobOrderFn("first", func(_, _ *Workload) int { return opinion })
	s.AddQueueOrderFn("first", func(_, _ string) int { return opinion })
	a, b := named("a", 1), named("b", 2)
	if got := s.JobOrder(a, b); got != 1 {
		t.Errorf("without an opinion of the first tier, the order is %d, want 1", got)
	}
	if got := s.QueueOrder("a", "b"); got >= 0 {
		t.Errorf("without an opinion, the order of queues is %d, want that of their names", got)
	}
	opinion = -1
	if got := s.JobOrder(a, b); got != -1 {
		t.Errorf("the order is %d, want that of the first tier", got)
	}
	opinion = 1
	if got := s.QueueOrder("a", "b"); got != 1 {
		t.Errorf("the order of queues is %d, want that of the first tier", got)
	}
}

func TestWithoutAnOpinionTheOlderWorkloadComesFirstAndThenTheName(t *testing.T) {
	s := open()
	workloads := []*Workload{named("c", 2), named("b", 1), named("a", 2)}
	slices.SortFunc(workloads, s.JobOrder)
	var got []string
	for _, w := range workloads {
		got = append(got, w.Name())
	}
	if want := []string{"ns/b", "ns/a", "ns/c"}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

func TestEachPluginMayRefuse(t *testing.T) {
	s := open()
	refusal := &Refusal{Reason: "Full"}
	s.AddEnqueueableFn("first", func(*Workload) *Refusal { return nil })
	if got := s.Enqueueable(named("a", 1)); got != nil {
		t.Errorf("nobody refuses, but the refusal is %v", got)
	}
	s.AddEnqueueableFn("second", func(*Workload) *Refusal { return refusal })
	s.AddAllocatableFn("second", func(*Workload) *Refusal { return refusal })
	if got := s.Enqueueable(named("a", 1)); got != refusal {
		t.Errorf("the second plugin refuses, but the refusal is %v", got)
	}
	if got := s.Allocatable(named("a", 1)); got != refusal {
		t.Errorf("the second plugin refuses, but the refusal is %v", got)
	}
}

func TestThePluginThatNamesVictimsFirstDecides(t *testing.T) {
	s := open()
	victim := named("v", 1)
	if got := s.Reclaimable(named("a", 1)); got != nil {
		t.Errorf("nobody names victims, but they are %v", got)
	}
	s.AddReclaimableFn("first", func(*Workload) []*Workload { return nil })
	s.AddReclaimableFn("second", func(*Workload) []*Workload { return []*Workload{victim} })
	if got := s.Reclaimable(named("a", 1)); !slices.Equal(got, []*Workload{victim}) {
		t.Errorf("the victims are %v, want those of the second plugin", got)
	}
}

func TestAllHandlersAreTold(t *testing.T) {
	s := open()
	var told []string
	s.AddEventHandler(EventHandler{Allocate: func(*Workload) { told = append(told, "allocate") }})
	s.AddEventHandler(EventHandler{Deallocate: func(*Workload) { told = append(told, "deallocate") }})
	s.Allocate(named("a", 1))
	s.Deallocate(named("a", 1))
	if want := []string{"allocate", "deallocate"}; !slices.Equal(told, want) {
		t.Errorf("handlers were told %q, want %q", told, want)
	}
}

// TestAHeldWorkloadWithoutAGrantWaits, whatever an administrator has written while there were no webhooks.
func TestAHeldWorkloadWithoutAGrantWaits(t *testing.T) {
	for _, reason := range []binding.Reason{binding.Waiting, binding.Growing, binding.Returning} {
		w := &Workload{State: binding.State{Hold: &binding.Hold{Reason: reason}}}
		if !w.Waits() || w.Grows() || w.Returns() {
			t.Errorf("%s: it waits: %t, grows: %t, returns: %t", reason, w.Waits(), w.Grows(), w.Returns())
		}
	}
}
