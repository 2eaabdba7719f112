// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestANewLeaderRecordsNoOldTemplate: the user of a job that waits makes its pods smaller, the job is granted room, and another dispatcher leads that does
// not know the smaller pods yet. It took them for pods that clusters may have, and charged the job for larger ones for ever.
func TestANewLeaderRecordsNoOldTemplate(t *testing.T) {
	const train = "ns/train-job"
	w := newQueueWorld(t, 1, 4, true)
	w.train("train", 4, "m1", func(task *batchv1alpha1.TaskSpec) { task.Template = podsOf("c", 3) })
	w.pass(5)
	next := w.newReplica()
	t.Cleanup(next.stop)
	w.replicas = append(w.replicas, next)
	w.requestOf(jobs, "ns/train", 4, 1)
	w.storeUpdate()
	w.detect(train)
	cycle := func(r *replica) {
		for w.begin(r); r.cycle != nil; {
			w.settle(r)
		}
	}
	w.replicas[0].showAll()
	if cycle(w.replicas[0]); w.charge(train) != 4 {
		t.Fatalf("%d cores are charged, want 4", w.charge(train))
	}
	for w.replicas[w.leads] != next {
		w.succeed()
	}
	for range 3 {
		cycle(next)
	}
	if w.pass(10); w.charge(train) != 4 || w.runs() != 4 {
		t.Errorf("%d cores run and %d are charged, want 4: %v", w.runs(), w.charge(train), w.binding(train).Annotations)
	}
}
