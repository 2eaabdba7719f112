// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
)

// TestPodsThatLoseTheirJobAreFound, whatever else happens in the same session.
func TestPodsThatLoseTheirJobAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*fixture)
	}{
		{"while the queue of others is misplaced", func(f *fixture) { f.queue("other", "nowhere") }},
		{"while arguments change", func(f *fixture) {
			f.cache.Configure(demand.Options{CardUnlimitedCPUMemory: true}, demand.Serving{})
		}},
		{"while dimensions are renewed", func(f *fixture) { f.cache.review.renew = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t).queue("team", "root").queue("other", "root")
			task := f.job("p", "team", "n1", requests)
			f.job("q", "other", "n1", requests)
			f.take()
			f.drop(task)
			c.do(f)
			for _, when := range []string{"at once", "later"} {
				f.take().expectCharges(t, when, map[string]string{"team": "4 2 2", "root": "8 4 4"})
			}
		})
	}
}

// TestPodsOfAQueueThatLosesItsPlaceStayCharged, even if nothing on the pods names the queue.
func TestPodsOfAQueueThatLosesItsPlaceStayCharged(t *testing.T) {
	f := newFixture(t).queue("org", "root").queue("team", "org")
	f.job("p", "team", "n1", requests)
	f.take()
	f.queue("team", "nowhere")
	f.cache.review.renew = true
	f.take().expectCharges(t, "while dimensions are renewed", map[string]string{"org": "4 2 2", "root": "4 2 2"})
}

// TestAPodThatWasOnlyTriedOnANodeIsNotCharged: upstream writes the node that it tries into the informer's copy of the
// pod, and leaves it there when it gives up.
func TestAPodThatWasOnlyTriedOnANodeIsNotCharged(t *testing.T) {
	for _, deleted := range []string{"PodGroup", "queue"} {
		f := newFixture(t).queue("org", "root").queue("team", "org")
		task := f.job("p", "team", "", requests)
		f.take()
		task.Pod.Spec.NodeName = "n1"
		if deleted == "PodGroup" {
			f.drop(task)
		} else {
			f.queue("team", "nowhere")
		}
		f.take().expectCharges(t, "without its "+deleted, map[string]string{"org": "0 0 0", "root": "0 0 0"})
	}
}

func TestAPodThatIsBoundWhileItIsTriedIsAStray(t *testing.T) {
	waiting := podObject("p", "", requests)
	bound := waiting.DeepCopy()
	bound.Spec.NodeName = "n1"
	bound.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	waiting.Spec.NodeName = "n2"
	ss := &strays{}
	if ss.update(waiting, bound); len(ss.pods) != 1 {
		t.Error("the pod is not found")
	}
}
