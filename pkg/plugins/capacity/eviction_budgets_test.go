// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// putBudget puts a PodDisruptionBudget that covers all pods. Its status is never updated.
func (c *fuzzCluster) putBudget(allowed, healthy int32, change func(*policyv1.PodDisruptionBudget)) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: c.meta("budget", "ns")}
	budget.Generation, budget.Spec.Selector = 1, &metav1.LabelSelector{}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 1, DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: healthy - allowed, ExpectedPods: healthy,
	}
	if change != nil {
		change(budget)
	}
	c.try(c.informers.Policy().V1().PodDisruptionBudgets().Informer().GetStore().Add(budget))
}

// lendingCluster is a cluster where queue lender holds two devices that queue q deserves.
func lendingCluster(t *testing.T) *fuzzCluster {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 2), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	c.node("n1", 8, "h100", "h100")
	for _, name := range []string{"v1", "v2"} {
		c.single(name, "lender", "h100")
		c.turn()
		c.edit(name, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning })
		c.clock.SetTime(c.clock.Now().Add(time.Second)) // younger pods go first
	}
	c.expectPlaces("v1@n1 v2@n1")
	return c
}

// TestABudgetOfOneIsNotSpentTwice: the status of the budget does not show yet that the first victim has gone.
func TestABudgetOfOneIsNotSpentTwice(t *testing.T) {
	c := lendingCluster(t)
	c.putBudget(1, 2, nil)
	c.single("p1", "q", "h100")
	c.turn()
	c.expectPlaces("p1@ v1@n1 v2@n1x")
	c.single("p2", "q", "h100")
	c.turn()
	c.expectPlaces("p1@ p2@ v1@n1 v2@n1x")

	c.restart()
	c.putBudget(1, 2, nil)
	c.turn()
	c.expectPlaces("p1@ p2@ v1@n1 v2@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("p1@n1 p2@ v1@n1")

	// A ready pod replaces the victim, so the status is right again.
	c.node("n2", 8)
	c.group("v3", "lender", 1, nil)
	c.pod("v3", "v3", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n2", corev1.PodRunning })
	c.turn()
	c.expectPlaces("p1@n1 p2@ v1@n1x v3@n2")
}

// TestAnOldStatusAllowsNothing: the budget demands more pods since its status was written.
func TestAnOldStatusAllowsNothing(t *testing.T) {
	c := lendingCluster(t)
	c.putBudget(1, 2, func(budget *policyv1.PodDisruptionBudget) { budget.Generation = 2 })
	c.single("p1", "q", "h100")
	c.turn()
	c.expectPlaces("p1@ v1@n1 v2@n1")
	c.putBudget(1, 2, nil)
	c.turn()
	c.expectPlaces("p1@ v1@n1 v2@n1x")
}
