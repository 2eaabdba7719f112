// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// notes stores another record of the placement that Karmada's scheduler has followed, none if it is empty.
func (w *world) notes(applied string, changes ...func(*workv1alpha2.ResourceBinding)) {
	rb := w.binding(web).DeepCopy()
	delete(rb.Annotations, appliedPlacement)
	if applied != "" {
		rb.Annotations[appliedPlacement] = applied
	}
	for _, change := range changes {
		change(rb)
	}
	w.write(rb)
}

// TestTheRecordOfThePlacementGrantsNothing: Karmada's dependencies distributor writes annotations of an older version of a binding after a conflict, its
// scheduler notes a placement that has changed meanwhile, and users may write anything.
func TestTheRecordOfThePlacementGrantsNothing(t *testing.T) {
	narrow := func(w *world) string { return w.binding(web).Annotations[appliedPlacement] }
	widens := func(w *world) {
		w.sendTo(web, "m1", "m2")
		w.detect(web)
	}
	// away has the workload in one of two clusters of its policy, because the other one did not fit.
	away := func(w *world) {
		w.sendTo(web, "m1", "m2")
		rb := w.binding(web).DeepCopy()
		rb.Spec.Placement = w.policies[web].DeepCopy()
		rb.Annotations[appliedPlacement] = string(must(jsonOf(rb.Spec.Placement)))
		w.save(rb)
	}
	for _, c := range []struct {
		name    string
		happens func(*world)
	}{
		{"it is lost, the policy becomes wider, and the scheduler notes the former one", func(w *world) {
			before := narrow(w)
			w.notes("")
			widens(w)
			w.notes(before)
		}},
		{"it is lost after the policy has become wider", func(w *world) {
			before := narrow(w)
			widens(w)
			w.notes("")
			w.notes(before)
		}},
		{"a user notes another placement", func(w *world) {
			away(w)
			w.notes("{}")
		}},
		{"a user notes another placement and takes the clusters away", func(w *world) {
			away(w)
			w.notes("{}", func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Clusters = nil })
		}},
		{"a user removes it and takes the clusters away", func(w *world) {
			away(w)
			w.notes("", func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Clusters = nil })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newQueueWorld(t, 1, 3, true)
			w.deploy("web", 2, "m1")
			w.pass(60)
			c.happens(w)
			w.decide() // before Karmada's scheduler has seen it
			w.pass(60)
			if rb := w.binding(web); w.runs() != 2 || coresGranted(w.stateOf(rb).Grant) != 2 {
				t.Errorf("%d cores run, and the queue may have 3: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
			}
		})
	}
}
