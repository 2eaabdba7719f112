// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"maps"
	"slices"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// endJob ends the Volcano Job of a Work in its cluster.
func (w *world) endJob(key string) {
	work := w.store[works][key].DeepCopyObject().(*workv1alpha1.Work)
	told := w.content[string(work.UID)]
	told.ended, told.has.replicas, told.former = true, 0, nil
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(completed)}}}
	w.put(works, work)
	w.note("%s ended", key)
}

// completed is the status of a Volcano Job that has ended.
const completed = `{"state":{"phase":"Completed"}}`

// newEndedWorld returns a world in which a Volcano Job of four cores has ended in cluster m1. Its binding has the key.
func newEndedWorld(t *testing.T, key string) *world {
	w := newQueueWorld(t, 1, 4, true)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	w.pass(20)
	w.endJob("karmada-es-m1/train-job")
	w.pass(5)
	if charged := w.charge(key); charged != 0 {
		t.Fatalf("charged %d after the end", charged)
	}
	return w
}

// TestAFormerEndIsNoEndOfWhatRunsAgain: Karmada's status controller has not noted yet that the cluster has let go of what had ended there.
func TestAFormerEndIsNoEndOfWhatRunsAgain(t *testing.T) {
	const key = "ns/train-job"
	w := newEndedWorld(t, key)
	w.sendTo(key, "m2") // the policy is changed, and back
	for range 10 {
		w.detect(key)
		w.see(key, true)
		w.schedule(key)
		w.decide()
		w.sendTo(key, "m1")
		if rb := w.binding(key); len(rb.Spec.Clusters) > 0 && w.charge(key) < coresGranted(w.stateOf(rb).Grant) {
			t.Fatalf("charged %d before its cluster has it: %v", w.charge(key), rb.Annotations)
		}
		w.see(key, false)
		w.dispatch(key)
		if rb := w.binding(key); len(rb.Spec.Clusters) > 0 && w.charge(key) < coresGranted(w.stateOf(rb).Grant) {
			t.Fatalf("charged %d before its cluster runs it: %v", w.charge(key), rb.Annotations)
		}
		for _, work := range slices.Sorted(maps.Keys(w.store[works])) {
			w.execute(work)
		}
		w.sleep(time.Second)
	}
	w.pass(1)
	if w.runs() != 4 {
		t.Errorf("it does not run again: %v", w.binding(key).Annotations)
	}
}

// TestWhatHasEndedInAClusterThatIsAwayIsNotChargedWhenItIsEvicted from there.
func TestWhatHasEndedInAClusterThatIsAwayIsNotChargedWhenItIsEvicted(t *testing.T) {
	const key = "ns/train-job"
	w := newEndedWorld(t, key)
	w.reach("m1", false)
	w.evict(key, "m1", "m2", 0)
	w.deploy("other", 4, "m3")
	w.pass(60)
	if runs := w.runs(); runs != 4 {
		t.Errorf("%d cores run, want 4: %v %s", runs, w.binding(key).Annotations, w.says())
	}
}
