// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestWhatHasEndedMeanwhileIsNotTakenBack: it would run once more from its beginning.
func TestWhatHasEndedMeanwhileIsNotTakenBack(t *testing.T) {
	t.Run("before the patch", func(t *testing.T) {
		testEndsMeanwhile(t, func(_ *world, ends func()) { ends() })
	})
	t.Run("when its status leaves no room for the patch", func(t *testing.T) {
		testEndsMeanwhile(t, func(w *world, ends func()) {
			w.fill("ns/train-job")
			w.tooLarge = ends
		})
	})
}

// testEndsMeanwhile lets a job end when it is about to be taken back.
func testEndsMeanwhile(t *testing.T, when func(w *world, ends func())) {
	const key, work = "ns/train-job", "karmada-es-m1/train-job"
	w := newWorldOf(t, 1, "reclaim: true", true, func(w *world) {
		w.queue("org", "root", 8)
		w.queue("c", "org", 8)
		w.queue("b", "org", 8)
	})
	w.deploy("one", 4, "m2")
	w.pass(60)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	w.pass(60)
	w.deployIn("b", "deserves", 4, "m3")
	asked, ended := false, false
	ends := func() {
		w.endJob(work)
		w.report(key)
		ended = true
	}
	for range 60 {
		w.busyRound(func() {
			for _, d := range w.replicas[w.leads].grants {
				if d.again != nil && !asked { // it is about to be taken back
					asked = true
					when(w, ends)
				}
			}
		})
		w.sleep(1e9)
	}
	if hold := w.stateOf(w.binding(key)).Hold; !ended || hold != nil && hold.Reason != binding.Growing {
		t.Errorf("ended: %t, and it is held: %+v", ended, hold)
	}
	if _, granted := w.has("deserves"); !granted {
		t.Errorf("it waits although the other one has ended: %s", w.says())
	}
}
