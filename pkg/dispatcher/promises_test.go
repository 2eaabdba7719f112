// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// TestAPromiseIsForWhatItWasMadeFor: a workload that another one has gone for becomes one that its queue does not deserve.
func TestAPromiseIsForWhatItWasMadeFor(t *testing.T) {
	for name, becomes := range map[string]func(*world){
		"it is larger": func(w *world) { w.scaleTo(deployments, "ns/deserves", 8) },
		"it is of another queue": func(w *world) {
			other := w.store[deployments]["ns/deserves"].DeepCopyObject().(*appsv1.Deployment)
			other.Spec.Template = podsOf("c", 1)
			w.put(deployments, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newReclaimWorld(t, 8, "strictOrder: false")
			w.deploy("older", 4, "m4")
			w.pass(5)
			w.deployIn("b", "deserves", 4, "m3")
			if n := w.evictions("two", 60, func() { becomes(w) }); n != 1 {
				t.Fatalf("another one is taken back %d times", n)
			}
			w.pass(120)
			if _, granted := w.has("older"); !granted {
				t.Errorf("another one has the room, or it is idle: %s", w.says())
			}
		})
	}
}

// TestNobodyWaitsForeverForWhatDoesNotEnd: a victim has pods that may end in a year, and others may go.
func TestNobodyWaitsForeverForWhatDoesNotEnd(t *testing.T) {
	for name, leaves := range map[string]func(*world){
		"another one went for it": func(*world) {},
		"its user has deleted it": func(w *world) { w.remove(deployments, w.store[deployments]["ns/two"]) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newReclaimWorld(t, 8)
			w.looks = false
			patient := w.store[deployments]["ns/two"].DeepCopyObject().(*appsv1.Deployment)
			patient.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](365 * 24 * 3600)
			w.put(deployments, patient)
			w.pass(60)
			leaves(w)
			w.deployIn("b", "deserves", 4, "m3")
			w.pass(60)
			w.sleep(66 * time.Minute)
			w.pass(120)
			if _, granted := w.has("deserves"); !granted {
				t.Errorf("it waits: %s", w.says())
			}
		})
	}
}
