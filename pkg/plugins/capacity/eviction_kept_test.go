// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/settings"
)

// TestAGangThatGetsNothingIsNotNominated: two pods could have a node, and the third could not. Autoscalers ignore nominated pods.
func TestAGangThatGetsNothingIsNotNominated(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 3), nil)
	c.queue("lender", "root", deserve("h100", 1), nil)
	c.node("n1", 8, "h100", "h100", "h100")
	for i := range 3 {
		c.single(fmt.Sprint("v", i), "lender", "h100")
	}
	c.turn()
	c.group("g", "q", 3, nil)
	for i := range 3 {
		c.pod(fmt.Sprint("g", i), "g", nil, "h100")
	}
	c.expectTurn("g0@ g1@ g2@ v0@n1 v1@n1 v2@n1")
	for _, pod := range c.pods {
		if pod.Status.NominatedNodeName != "" {
			c.fail("pod %s is nominated to %s", pod.Name, pod.Status.NominatedNodeName)
		}
	}
}

// TestAWaitThatEndedDoesNotCount: a pod waits for leaving pods of a node twice, with a long time in between.
func TestAWaitThatEndedDoesNotCount(t *testing.T) {
	c := lent(t, important, "v1")
	c.terminate(c.pods.named("v1"))
	c.single("p", "q", "h100")
	c.turn()
	c.single("v2", "lender", "h100")
	c.edit("v2", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "false" })
	c.leave()
	c.expectTurn("p@ v2@n1")
	c.turn()
	c.clock.SetTime(c.clock.Now().Add(settings.DefaultReservationTimeout + time.Minute))
	c.terminate(c.pods.named("v2"))
	c.turn()
	c.single("v3", "lender", "h100")
	c.leave()
	c.expectTurn("p@ v3@n1")
	c.expectTurn("p@ v3@n1x")
}

// TestCardsAreKeptWhileDevicesAreRead: after a start, devices are still being read while cards are known.
func TestCardsAreKeptWhileDevicesAreRead(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"H100": 1}`})
	nominated, other := gpuPod("nominated", "", 1, ""), gpuPod("a", "", 1, "")
	nominated.Status.NominatedNodeName = "n1"
	s.job("a", "q", inqueue, nil, other).job("nominated", "q", inqueue, nil, nominated)
	ssn := s.open(t)
	pluginOf(ssn).checks.DevicesNotReady = &report.NotReady{Subject: report.Devices, Why: "claims are still being read"}
	s.Run((&Plugins{cache: s.cache}).Actions())
	expectStatuses(t, ssn, "a:Pending nominated:Binding")
}

// TestAGangThatCannotBeEvictedLetsNobodyIn: otherwise, a job of higher priority would wait for the gang, and keep free room from
// other jobs.
func TestAGangThatCannotBeEvictedLetsNobodyIn(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: 4}}}, nil)
	c.node("n1", 16, "h100", "h100", "h100", "h100")
	c.group("gang", "q", 3, nil)
	for i := range 3 {
		c.pod(fmt.Sprint("gang-", i), "gang", nil, "h100")
	}
	c.turn()
	pend := func(group *upstreamv1beta1.PodGroup) {
		group.Status.Phase, group.Spec.MinResources = upstreamv1beta1.PodGroupPending, ptr.To(cpu(1))
	}
	c.group("high", "q", 4, func(group *upstreamv1beta1.PodGroup) {
		pend(group)
		group.Spec.PriorityClassName = "high"
	})
	for i := range 4 {
		c.pod(fmt.Sprint("high-", i), "high", nil, "h100")
	}
	c.turn()
	c.group("small", "q", 1, pend)
	c.pod("small", "small", nil, "h100")
	c.turn()
	c.expectTurn("gang-0@n1 gang-1@n1 gang-2@n1 high-0@ high-1@ high-2@ high-3@ small@n1")
}

// on restricts a pod to the node with this label.
func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"on": node} }
}

// TestAVictimWhoseCPUIsNeededIsNotSpared: the two pods of a gang need the places of two pods on different nodes.
func TestAVictimWhoseCPUIsNeededIsNotSpared(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, nil)
	c.node("n1", 1)
	c.node("n2", 1, "h100")
	for _, name := range []string{"n1", "n2"} {
		c.editNode(name, func(node *corev1.Node) { node.Labels["on"] = name })
	}
	c.only("x", "q", on("n1"))
	c.single("v", "q", "h100")
	c.expectTurn("v@n2 x@n1")
	c.group("g", "q", 2, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	c.pod("g-cpu", "g", func(pod *corev1.Pod) {
		on("n1")(pod)
		pod.Spec.Priority = ptr.To[int32](10)
	})
	c.pod("g-device", "g", nil, "h100")
	c.expectTurn("g-cpu@ g-device@ v@n2x x@n1x")
	c.leave()
	c.expectTurn("g-cpu@n1 g-device@n2")
}

// TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob: the victim of the other pod goes first.
func TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 2), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	for _, name := range []string{"n1", "n2"} {
		c.node(name, 8, "h100")
		c.editNode(name, func(node *corev1.Node) { node.Labels["on"] = name })
		c.only("v-"+name, "lender", on(name), "h100")
	}
	c.turn()
	c.group("p", "q", 1, nil)
	c.pod("p1", "p", nil, "h100")
	c.pod("p2", "p", on("n2"), "h100")
	c.edit("p1", func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To[int32](10) })
	c.expectTurn("p1@ p2@ v-n1@n1x v-n2@n2x")
	c.deletePod(c.pods.named("v-n2"))
	c.control()
	c.expectTurn("p1@ p2@n2 v-n1@n1x")
	c.leave()
	c.expectTurn("p1@n1 p2@n2")
}

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
			c.queue("lender", "root", deserve("h100", 0), important)
			each := (tc.devices + tc.zones - 1) / tc.zones
			for i := range tc.zones {
				name := fmt.Sprint("n", i)
				c.node(name, 32, slices.Repeat([]string{"h100"}, each)...)
				c.editNode(name, func(node *corev1.Node) {
					node.Labels[corev1.LabelHostname], node.Labels[corev1.LabelTopologyZone] = name, name
				})
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

// TestAGangIsSearchedWithoutTheRoomThatIsKept: all pods of a gang fit, if not two of them get the node where room is kept for another pod.
func TestAGangIsSearchedWithoutTheRoomThatIsKept(t *testing.T) {
	c := lent(t, nil, "v1")
	asks := func(cores int, priority int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests, pod.Spec.Priority = cpu(cores), ptr.To(priority)
		}
	}
	c.only("p", "q", asks(4, 0), "h100")
	c.expectTurn("p@ v1@n1x")
	c.node("n2", 8)
	c.node("n3", 3)
	c.group("g", "q", 3, nil)
	c.pod("g0", "g", asks(3, 10))
	c.pod("g1", "g", asks(3, 10))
	c.pod("g2", "g", asks(8, 0))
	c.turn()
	if node := c.pods.named("g2").Spec.NodeName; node != "n2" || c.pods.named("g0").Spec.NodeName == c.pods.named("g1").Spec.NodeName {
		c.fail("pods are %s", c.places())
	}
}
