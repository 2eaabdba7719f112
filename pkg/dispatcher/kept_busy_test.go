// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

// extendGrace makes the user of a Deployment give its pods one second more to end.
func (w *world) extendGrace(name string) {
	before := w.store[deployments]["ns/"+name]
	after := before.DeepCopyObject().(*appsv1.Deployment)
	after.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(ptr.Deref(after.Spec.Template.Spec.TerminationGracePeriodSeconds, 30) + 1)
	if w.admit("user", admission.WorkloadsPath, "UPDATE", before, after).Allowed {
		w.put(deployments, after)
	}
}

// relabel writes a binding as Karmada's detector does when the labels of its object change.
func (w *world) relabel(name string) {
	rb := w.binding("ns/" + name + "-deployment").DeepCopy()
	metav1.SetMetaDataLabel(&rb.ObjectMeta, "flaps", strconv.Itoa(w.version))
	if !w.write(rb) {
		w.t.Fatal("refused")
	}
}

// busyRound is round with a user who acts between each decision and its patch.
func (w *world) busyRound(act func()) {
	w.reconcile()
	leader := w.replicas[w.leads]
	leader.showAll()
	w.begin(leader)
	for leader.cycle != nil {
		act()
		w.settle(leader)
	}
	w.check()
}

// TestAUserKeepsNothingFromBeingTakenBackByUpdates: each makes another version of the binding, for which a decision does not count.
func TestAUserKeepsNothingFromBeingTakenBackByUpdates(t *testing.T) {
	for name, act := range map[string]func(*world){
		"labels that flap":               func(w *world) { w.relabel("two") },
		"pods that get more time to end": func(w *world) { w.extendGrace("two") },
	} {
		for _, when := range []string{"between decisions", "between a decision and its patch"} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newReclaimWorld(t, 8)
				w.deployIn("b", "deserves", 4, "m3")
				w.reconcile()
				for range 300 {
					if _, granted := w.has("deserves"); granted {
						return
					}
					if when == "between decisions" {
						act(w)
						w.busyRound(func() {})
					} else {
						w.busyRound(func() { act(w) })
					}
					w.sleep(1e9)
				}
				hold, _ := w.has("two")
				t.Errorf("it waits for five minutes: %s. The other one has the hold %+v", w.says(), hold)
			})
		}
	}
}

// TestAUserKeepsNoRoomInVainByUpdates: no cluster can run it, and others of its queue wait.
func TestAUserKeepsNoRoomInVainByUpdates(t *testing.T) {
	w := newQueueWorld(t, 1, 4, true)
	w.deploy("two", 4, "")
	w.onlyTo("two")
	w.pass(10)
	if _, granted := w.has("two"); !granted {
		t.Fatalf("it is not granted room: %s", w.says())
	}
	w.deploy("other", 4, "m1")
	for range 1200 {
		w.busyRound(func() { w.relabel("two") })
		if _, granted := w.has("other"); granted {
			return
		}
		w.sleep(1e9)
	}
	t.Errorf("it waits for twenty minutes: %s", w.says())
}
