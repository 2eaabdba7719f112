// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// disruptionBudget covers the pods with these labels, or all pods.
func disruptionBudget(allowed, healthy int32, labels map[string]string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "budget", UID: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: max(0, healthy-allowed)},
	}
}

// putBudget puts a PodDisruptionBudget that covers all pods. Its status is never updated.
func (c *fuzzCluster) putBudget(allowed, healthy int32, change func(*policyv1.PodDisruptionBudget)) {
	budget := disruptionBudget(allowed, healthy, nil)
	budget.ObjectMeta = c.meta("budget", "ns")
	budget.Generation, budget.Status.ObservedGeneration, budget.Status.ExpectedPods = 1, 1, healthy
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
	c.expectTurn("p1@ v1@n1 v2@n1x")
	c.single("p2", "q", "h100")
	c.expectTurn("p1@ p2@ v1@n1 v2@n1x")

	c.restart()
	c.putBudget(1, 2, nil)
	c.expectTurn("p1@ p2@ v1@n1 v2@n1x")
	c.leave()
	c.expectTurn("p1@n1 p2@ v1@n1")

	// A ready pod replaces the victim, so the status is right again.
	c.node("n2", 8)
	c.only("v3", "lender", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n2", corev1.PodRunning })
	c.expectTurn("p1@n1 p2@ v1@n1x v3@n2")
}

// TestAnOldStatusAllowsNothing: the budget demands more pods since its status was written.
func TestAnOldStatusAllowsNothing(t *testing.T) {
	c := lendingCluster(t)
	c.putBudget(1, 2, func(budget *policyv1.PodDisruptionBudget) { budget.Generation = 2 })
	c.single("p1", "q", "h100")
	c.expectTurn("p1@ v1@n1 v2@n1")
	c.putBudget(1, 2, nil)
	c.expectTurn("p1@ v1@n1 v2@n1x")
}

// TestNobodyGoesInThePlaceOfALeavingPod: the pod old leaves node n1, whatever else than its device keeps the pod high from this node as long as old
// is there. The pod low on n2 has a lower priority, or gives back a device that its queue has borrowed.
func TestNobodyGoesInThePlaceOfALeavingPod(t *testing.T) {
	port := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080, Protocol: corev1.ProtocolTCP}}
	}
	label := func(pod *corev1.Pod) { pod.Labels["app"] = "x" }
	averse := func(pod *corev1.Pod) {
		label(pod)
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, TopologyKey: corev1.LabelHostname,
		}}}}
	}
	for _, lender := range []string{"q", "lender"} {
		for _, tc := range []struct {
			name      string
			old, high func(*corev1.Pod)
			pods      string
		}{
			{name: "nothing"},
			{name: "a host port", old: port, high: port},
			{name: "anti-affinity", old: label, high: averse},
			{name: "anti-affinity of the leaving pod", old: averse, high: label},
			{name: "the number of pods", pods: "1"},
		} {
			t.Run(tc.name+", "+lender, func(t *testing.T) {
				c := newCalmCluster(t, "h100")
				c.queue("q", "root", deserve("h100", 2), nil)
				c.queue("lender", "root", deserve("h100", 0), func(s *schedulingv1beta1.QueueSpec) { s.Reclaimable = ptr.To(true) })
				node := func(name, pods string) {
					c.node(name, 8, "h100")
					c.editNode(name, func(node *corev1.Node) {
						node.Labels[corev1.LabelHostname] = name
						if pods != "" {
							node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(pods)
						}
					})
				}
				node("n1", tc.pods)
				c.only("old", "q", tc.old, "h100")
				c.turn()
				node("n2", "")
				c.single("low", lender, "h100")
				c.turn()
				c.terminate(c.pods.named("old"))
				c.group("high", "q", 1, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
				c.pod("high", "high", tc.high, "h100")
				for range 2 {
					c.expectTurn("high@ low@n2 old@n1x")
				}
				c.leave()
				c.expectTurn("high@n1 low@n2")
			})
		}
	}
}
