// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

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
					node, _ := c.nodes.get(name)
					node = node.DeepCopy()
					node.Labels = map[string]string{corev1.LabelHostname: name}
					if pods != "" {
						node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(pods)
					}
					c.putNode(node)
				}
				node("n1", tc.pods)
				c.group("old", "q", 1, nil)
				c.pod("old", "old", tc.old, "h100")
				c.turn()
				node("n2", "")
				c.single("low", lender, "h100")
				c.turn()
				old, _ := c.pods.get("old")
				c.terminate(old)
				c.group("high", "q", 1, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
				c.pod("high", "high", tc.high, "h100")
				for range 2 {
					c.turn()
					c.expectPlaces("high@ low@n2 old@n1x")
				}
				c.leave()
				c.turn()
				c.expectPlaces("high@n1 low@n2")
			})
		}
	}
}
