// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// A star marks decisions that write to a binding.

func TestWorkloadsAreGrantedRoomInTheOrderOfPriorityAndAge(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("first", "team", 2, priority("low"))
	f.held("second", "team", 2, priority("high"))
	f.held("third", "team", 2, priority("high"))
	f.expect("first InsufficientCPUQuota, second Granted *, third Granted *")
}

func TestALargeWorkloadIsNotStarvedBySmallOnes(t *testing.T) {
	for _, tc := range []struct{ name, arguments, want string }{
		{"in strict order", "", "large InsufficientCPUQuota, small WaitsBehind"},
		{"otherwise", "strictOrder: false", "large InsufficientCPUQuota, small Granted *"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, tc.arguments)
			f.queue("team", "root", 4)
			f.running("runs", "team", 2)
			f.held("large", "team", 4)
			f.held("small", "team", 1)
			f.expect(tc.want)
		})
	}
}

func TestAWorkloadThatNeverFitsHoldsNobodyUp(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("huge", "team", 5)
	f.held("small", "team", 1)
	f.expect("huge NeverFits, small Granted *")
}

func TestTheParentsCapabilityHolds(t *testing.T) {
	f := newFixture(t, "")
	f.queue("org", "root", 4)
	f.queue("a", "org", 4)
	f.queue("b", "org", 4)
	f.held("a1", "a", 3)
	f.held("b1", "b", 3)
	f.expect("a1 Granted *, b1 InsufficientCPUQuota")
}

func TestWhatCannotBeDecidedHoldsNobodyUp(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("lost", "nowhere", 1)
	f.held("uncounted", "team", 1, func(w *framework.Workload) { w.Err = errors.New("no template") })
	f.held("orphan", "team", 1, func(w *framework.Workload) { w.State.NoPolicy = true })
	f.held("spoiled", "team", 1, func(w *framework.Workload) { w.State.Err = errors.New("not JSON") })
	f.held("vain", "team", 1, func(w *framework.Workload) {
		w.State.Requeue = &binding.Requeue{Attempts: 1, NotBefore: metav1.NewTime(noon.Add(time.Minute))}
	})
	f.held("theirs", "team", 1, func(w *framework.Workload) { w.State = binding.State{SuspendedByOthers: true} })
	f.held("good", "team", 4)
	c := f.expect("good Granted *, lost QueueNotFound, orphan NoPolicy, spoiled CannotCount, theirs Held, uncounted CannotCount, vain Held")
	if want := noon.Add(time.Minute); !c.next.Equal(want) {
		t.Errorf("the next cycle is due at %s, want %s, when the workload that backs off may be tried again", c.next, want)
	}
}

func TestTheEndOfAWorkloadGivesRoomBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*framework.Workload)
		want   string
	}{
		{"it runs", func(*framework.Workload) {}, "next InsufficientCPUQuota"},
		{"it has ended", func(w *framework.Workload) { w.State.Finished = true }, "next Granted *, runs Finished"},
		{"it is being deleted, and has Works", func(w *framework.Workload) { w.State.Deleting = true }, "next InsufficientCPUQuota"},
		{"it is being deleted, and its Works are gone", func(w *framework.Workload) {
			w.State.Deleting, w.Works, w.Binding.Finalizers = true, nil, []string{binding.Finalizer}
		}, "next Granted *, runs  *"},
		{"it is being deleted, and Karmada may still make Works", func(w *framework.Workload) {
			w.State.Deleting, w.Works, w.Binding.Finalizers = true, nil, []string{karmadaFinalizer, binding.Finalizer}
		}, "next InsufficientCPUQuota"},
		{"it is taken back, and has Works", func(w *framework.Workload) {
			w.State.Hold, w.Binding.Spec.Clusters = &binding.Hold{Reason: binding.Returning}, nil
		}, "next InsufficientCPUQuota"},
		{"it is taken back, and its Works are gone", func(w *framework.Workload) {
			w.State.Hold, w.Binding.Spec.Clusters, w.Works = &binding.Hold{Reason: binding.Returning}, nil, nil
		}, "next Granted *, runs Returned *"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, "")
			f.queue("team", "root", 4)
			runs := f.running("runs", "team", 4, tc.change)
			f.memory.restsSince(runs, told(runs), noon.Add(-worksSettle))
			f.held("next", "team", 4)
			f.expect(tc.want)
		})
	}
}

func TestAGrantInVainIsTakenBackForLongerEachTime(t *testing.T) {
	unplaced := func(since time.Time, attempts int) func(*framework.Workload) {
		return func(w *framework.Workload) {
			w.State.NotPlaced, w.State.WhyNotPlaced, w.State.PlacedUntil = true, "no cluster fits", since
			if attempts > 0 {
				w.State.Requeue = &binding.Requeue{Attempts: attempts, NotBefore: metav1.NewTime(since)}
			}
		}
	}
	f := newFixture(t, "")
	f.queue("team", "root", 8)
	f.running("early", "team", 1, unplaced(noon.Add(-9*time.Minute), 0))
	f.running("once", "team", 1, unplaced(noon.Add(-10*time.Minute), 0))
	f.running("thrice", "team", 1, unplaced(noon.Add(-time.Hour), 2))
	c := f.expect("once TakenBack *, thrice TakenBack *")
	if want := noon.Add(time.Minute); !c.next.Equal(want) {
		t.Errorf("the next cycle is due at %s, want %s, when the grant of the third has been in vain for ten minutes", c.next, want)
	}
	for attempts, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 1000: time.Hour} {
		if got := c.backoff(attempts); got != want {
			t.Errorf("after %d grants in vain, a workload waits for %s, want %s", attempts, got, want)
		}
	}
}

func TestAGrantFollowsWhatTheWorkloadNeeds(t *testing.T) {
	grantOf := func(cores int64) func(*framework.Workload) {
		return func(w *framework.Workload) { w.State.Grant.Amounts[0].Amount = ledger.Units(cores) }
	}
	growing := func(w *framework.Workload) { w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true} }
	unlisted := func(w *framework.Workload) {
		w.Needs.Unlisted = []binding.Amount{{Dimension: ledger.Dimension{Kind: ledger.Card, Name: "B200"}, Amount: ledger.Units(1)}}
	}
	f := newFixture(t, "cardQuotaRequired: true")
	f.queue("team", "root", 14)
	f.running("same", "team", 2)
	f.lowered(f.running("less", "team", 1, grantOf(2)))
	f.running("less, but members do not know", "team", 1, grantOf(2), func(w *framework.Workload) { w.Template.Generation = 3 })
	f.running("reverted", "team", 1, growing)
	f.running("in more clusters", "team", 1, grantOf(0))
	f.running("names a card that its queue does not list", "team", 1, growing, unlisted)
	f.running("ended", "team", 3, grantOf(1), growing, func(w *framework.Workload) { w.State.Finished = true })
	f.running("grown before it was placed", "team", 3, grantOf(1), growing, func(w *framework.Workload) {
		w.State.NotPlaced, w.State.PlacedUntil = true, noon.Add(-time.Hour)
	})
	f.running("more", "team", 3, grantOf(1), growing)
	f.running("much more", "team", 4, grantOf(1), growing)
	f.expect("ended Finished, grown before it was placed TakenBack *, in more clusters GrantExceeded *, less Shrunk *, more GrowthGranted *, much more GrowthHeld, names a card that its queue does not list GrowthHeld, reverted  *")
}

func TestWhatRunsWithoutAGrantIsCharged(t *testing.T) {
	unheld := func(w *framework.Workload) { w.State = binding.State{MayRun: true} }
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.running("older", "team", 3, unheld)
	f.running("ended", "team", 3, unheld, func(w *framework.Workload) { w.State.Finished = true })
	f.held("next", "team", 2)
	f.expect("ended Finished, next InsufficientCPUQuota, older Adopted *")
}

// TestNothingIsGrantedWhileTheWorkloadChanges: the webhook admits an update before it is stored, and the update may need more.
func TestNothingIsGrantedWhileTheWorkloadChanges(t *testing.T) {
	changes := func(since time.Duration, known string) func(*framework.Workload) {
		return func(w *framework.Workload) {
			w.State.Change = &binding.Change{Replaces: "7", Time: metav1.NewTime(noon.Add(-since))}
			w.Template.ResourceVersion = known
		}
	}
	growing := func(w *framework.Workload) {
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
		w.Binding.Spec.Resource.ResourceVersion = "7"
	}
	f := newFixture(t, "")
	f.queue("team", "root", 20)
	f.held("admitted", "team", 1, changes(time.Second, "7"))
	f.held("stored", "team", 1, changes(time.Second, "8"))
	f.held("refused later", "team", 1, changes(2*time.Minute, "7"))
	f.running("grows, admitted", "team", 1, growing, changes(time.Second, "7"))
	f.running("grows, stored and reverted", "team", 1, growing, changes(time.Second, "9"))
	f.running("grows, not read yet", "team", 1, growing, func(w *framework.Workload) { w.Template.ResourceVersion = "6" })
	c := f.expect("grows, stored and reverted  *, refused later Granted *, stored Granted *")
	if want := noon.Add(64 * time.Second); !c.next.Equal(want) {
		t.Errorf("the next cycle is due at %s, want %s, when the update is stored or has failed", c.next, want)
	}
}

// TestWhatAWorkloadNeedsNoMoreStaysGrantedUntilClustersKnow: until then, they still run the former version.
func TestWhatAWorkloadNeedsNoMoreStaysGrantedUntilClustersKnow(t *testing.T) {
	memory := ledger.Dimension{Kind: ledger.Resource, Name: "memory"}
	growing := func(cores, gigabytes int64) func(*framework.Workload) {
		return func(w *framework.Workload) {
			w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
			w.State.Grant.Amounts = []binding.Amount{{Dimension: cpu, Amount: ledger.Units(cores)}, {Dimension: memory, Amount: ledger.Units(gigabytes)}}
			w.Binding.Spec.Resource.ResourceVersion = "6" // Karmada has not seen the last update
		}
	}
	f := newFixture(t, "")
	f.queue("team", "root", 11)
	f.running("reverted and shrunk", "team", 1, growing(4, 4))
	f.running("more cores, and less memory", "team", 5, growing(4, 4), func(w *framework.Workload) {
		w.Needs.Stays = append(f.cores(5), ledger.Entry{Dimension: f.snapshot.Dimensions.Ordinal(memory), Amount: ledger.Units(4)})
	})
	c := f.expect("more cores, and less memory GrowthGranted *, reverted and shrunk  *")
	for _, d := range append(c.ends, c.grants...) {
		grant := grantIn(t, d.patch)
		for _, a := range grant.Amounts {
			if a.Amount.Cmp(ledger.Units(4)) < 0 {
				t.Errorf("%s is granted %s of %s, want at least the 4 that it runs", d.Workload.Binding.Name, a.Amount, a.Dimension)
			}
		}
		if len(grant.Amounts) != 2 {
			t.Errorf("%s is granted %v, want cpu and memory, which it runs", d.Workload.Binding.Name, grant.Amounts)
		}
	}
}

func grantIn(t *testing.T, patch []byte) *binding.Grant {
	t.Helper()
	rb := &workv1alpha2.ResourceBinding{}
	if err := json.Unmarshal(patch, rb); err != nil {
		t.Fatal(err)
	}
	grant, err := binding.ParseGrant(rb.Annotations[binding.GrantAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// TestWhatGrowsWithoutAGrantWaits: other users can write holds while the dispatcher's webhooks are not installed.
func TestWhatGrowsWithoutAGrantWaits(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("forged", "team", 2, func(w *framework.Workload) { w.State.Hold.Reason = binding.Growing })
	f.expect("forged Granted *")
}

// TestAGrantEndsAShortTimeAfterTheLastWorkIsGone: Karmada may still make Works from old data.
func TestAGrantEndsAShortTimeAfterTheLastWorkIsGone(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	w := f.running("leaves", "team", 4, func(w *framework.Workload) {
		w.State.Hold, w.Binding.Spec.Clusters = &binding.Hold{Reason: binding.Returning}, nil
	})
	works := w.Works
	at := func(seconds int, works []*workv1alpha1.Work, want string, next time.Duration) {
		t.Helper()
		f.snapshot.Now, w.Works = noon.Add(time.Duration(seconds)*time.Second), works
		c := f.expect(want)
		if due := c.next.Sub(noon); next != 0 && due != next {
			t.Errorf("the next cycle is due after %s, want %s", due, next)
		}
	}
	at(0, works, "", 0)
	at(1, nil, "", 4*time.Second)
	at(2, works, "", 0)
	at(3, nil, "", 6*time.Second)
	at(5, nil, "", 6*time.Second)
	at(6, nil, "leaves Returned *", 0)
}

// TestReclaimDoesNotGiveTheRoomBackToTheQueueThatItWasTakenFrom: otherwise, workloads would be reclaimed forever.
func TestReclaimDoesNotGiveTheRoomBackToTheQueueThatItWasTakenFrom(t *testing.T) {
	f := newFixture(t, "reclaim: true")
	f.queue("org", "root", 4)
	f.queue("poor", "org", 4, 2)
	f.queue("rich", "org", 4, 2)
	f.snapshot.Queues["rich"].Spec.Priority = 10
	f.running("keeps", "rich", 2)
	leaves := f.running("leaves", "rich", 2)
	f.held("asker", "poor", 2)
	f.expect("asker InsufficientCPUQuota, leaves Reclaimed *")

	leaves.State.Hold, leaves.Binding.Spec.Clusters, leaves.Works = &binding.Hold{Reason: binding.Returning}, nil, nil
	f.memory.restsSince(leaves, told(leaves), noon.Add(-worksSettle))
	f.held("greedy", "rich", 2)
	f.expect("asker Granted *, greedy InsufficientCPUQuota, leaves Returned *")
}
