// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestRoomIsKeptForPodsThatDependOnEachOther: a node suits them only when others of them have theirs, and their names, ages, and priorities say nothing
// about that. The owners of the evicted pods make new ones, as ReplicaSets do.
func TestRoomIsKeptForPodsThatDependOnEachOther(t *testing.T) {
	x := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	label := func(pod *corev1.Pod) { pod.Labels["app"] = "x" }
	beside := func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: x, TopologyKey: corev1.LabelTopologyZone},
		}}}
	}
	spread := func(pod *corev1.Pod) {
		label(pod)
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: x},
		}
	}
	for _, tc := range []struct {
		name string
		// zones is the number of nodes, each with the same number of devices. devices is what the pods need, one each.
		zones, devices int
		ask            func(c *fuzzCluster, created metav1.Time)
	}{
		{"eleven pods that spread", 2, 11, func(c *fuzzCluster, created metav1.Time) {
			c.group("job", "q", 11, nil)
			for i := range 11 {
				c.pod(fmt.Sprint("job-worker-", i), "job", func(pod *corev1.Pod) {
					pod.CreationTimestamp, pod.Annotations["volcano.sh/task-spec"] = created, "worker"
					spread(pod)
				}, "h100")
			}
		}},
		{"a launcher beside a worker", 1, 2, func(c *fuzzCluster, created metav1.Time) {
			c.group("job", "q", 2, nil)
			c.pod("worker", "job", func(pod *corev1.Pod) {
				pod.CreationTimestamp = created
				label(pod)
			}, "h100")
			c.pod("launcher", "job", func(pod *corev1.Pod) {
				pod.CreationTimestamp = metav1.NewTime(created.Add(time.Second))
				beside(pod)
			}, "h100")
		}},
		{"an older job beside one of higher priority", 1, 2, func(c *fuzzCluster, created metav1.Time) {
			c.group("driver", "q", 1, func(g *upstreamv1beta1.PodGroup) { g.CreationTimestamp, g.Spec.PriorityClassName = created, "high" })
			c.pod("driver", "driver", label, "h100")
			c.group("side", "q", 1, func(g *upstreamv1beta1.PodGroup) { g.CreationTimestamp = metav1.NewTime(created.Add(-time.Hour)) })
			c.pod("side", "side", beside, "h100")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			c.queue("q", "root", deserve("h100", int64(tc.devices)), nil)
			c.queue("lender", "root", deserve("h100", 0), func(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 })
			each := (tc.devices + tc.zones - 1) / tc.zones
			for i := range tc.zones {
				name := fmt.Sprint("n", i)
				c.node(name, 32, slices.Repeat([]string{"h100"}, each)...)
				node, _ := c.nodes.get(name)
				node = node.DeepCopy()
				node.Labels = map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: name}
				c.putNode(node)
			}
			for i := range each * tc.zones {
				c.single(fmt.Sprint("v", i), "lender", "h100")
			}
			c.turn()
			tc.ask(c, metav1.NewTime(c.clock.Now()))
			evicted := 0
			for range 4 {
				c.turn()
				c.turn()
				for _, pod := range slices.Clone(c.pods) {
					if pod.DeletionTimestamp != nil {
						evicted++
						c.single(fmt.Sprint("w", evicted), "lender", "h100")
					}
				}
				c.leave()
			}
			if evicted != tc.devices {
				t.Errorf("%d pods were evicted for %d", evicted, tc.devices)
			}
			for _, pod := range c.pods {
				if c.queueOf(pod) == "q" && pod.Spec.NodeName == "" {
					t.Errorf("pod %s waits", pod.Name)
				}
			}
		})
	}
}
