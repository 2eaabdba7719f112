// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// TestPodThatIsNotBoundHasNoNode: Volcano writes the node of a pod into the object that it shares with the informers, before
// it knows whether the job has enough pods. Without its PodGroup, the pod would be charged as running.
func TestPodThatIsNotBoundHasNoNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		cores int
	}{
		{"assigned by allocate, which undoes it", 3},
		{"assigned by backfill, which does not", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(4).queue("root", "", nil).queue("q", "root", nil)
			fits, waits := newPod("fits", "", cpu(c.cores)), newPod("waits", "", cpu(3))
			s.job("gang", "q", inqueue, nil, fits, waits, newPod("large", "", cpu(5)))
			ssn := s.open(t)
			s.Run([]framework.Action{enqueue.New(), allocate.New(), backfill.New()})
			framework.CloseSession(ssn)
			if fits.Spec.NodeName != "" || waits.Spec.NodeName != "" {
				t.Errorf("the pods are not bound, and have nodes %q and %q", fits.Spec.NodeName, waits.Spec.NodeName)
			}
		})
	}
}
