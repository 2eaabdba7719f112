// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	c.turn()
	c.expectPlaces("g0@ g1@ g2@ v0@n1 v1@n1 v2@n1")
	for _, pod := range c.pods {
		if pod.Status.NominatedNodeName != "" {
			c.fail("pod %s is nominated to %s", pod.Name, pod.Status.NominatedNodeName)
		}
	}
}

// TestAWaitThatEndedDoesNotCount: a pod waits for leaving pods of a node twice, with a long time in between.
func TestAWaitThatEndedDoesNotCount(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("h100", 0), func(spec *schedulingv1beta1.QueueSpec) { spec.Priority = 10 })
	c.node("n1", 8, "h100")
	c.single("v1", "lender", "h100")
	c.turn()
	pod, _ := c.pods.get("v1")
	c.terminate(pod)
	c.single("p", "q", "h100")
	c.turn()
	c.single("v2", "lender", "h100")
	c.edit("v2", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "false" })
	c.leave()
	c.turn()
	c.expectPlaces("p@ v2@n1")
	c.turn()
	c.clock.SetTime(c.clock.Now().Add(settings.DefaultReservationTimeout + time.Minute))
	pod, _ = c.pods.get("v2")
	c.terminate(pod)
	c.turn()
	c.single("v3", "lender", "h100")
	c.leave()
	c.turn()
	c.expectPlaces("p@ v3@n1")
	c.turn()
	c.expectPlaces("p@ v3@n1x")
}

// TestCardsAreKeptWhileDevicesAreRead: after a start, devices are still being read while cards are known.
func TestCardsAreKeptWhileDevicesAreRead(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 1}`})
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
	c.turn()
	c.expectPlaces("gang-0@n1 gang-1@n1 gang-2@n1 high-0@ high-1@ high-2@ high-3@ small@n1")
}

// TestAVictimWhoseCPUIsNeededIsNotSpared: the two pods of a gang need the places of two pods on different nodes.
func TestAVictimWhoseCPUIsNeededIsNotSpared(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, nil)
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"on": node} }
	}
	c.node("n1", 1)
	c.node("n2", 1, "h100")
	for _, node := range slices.Clone(c.nodes) {
		node = node.DeepCopy()
		node.Labels["on"] = node.Name
		c.putNode(node)
	}
	c.group("x", "q", 1, nil)
	c.pod("x", "x", on("n1"))
	c.single("v", "q", "h100")
	c.turn()
	c.expectPlaces("v@n2 x@n1")
	c.group("g", "q", 2, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	c.pod("g-cpu", "g", func(pod *corev1.Pod) {
		on("n1")(pod)
		pod.Spec.Priority = ptr.To[int32](10)
	})
	c.pod("g-device", "g", nil, "h100")
	c.turn()
	c.expectPlaces("g-cpu@ g-device@ v@n2x x@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("g-cpu@n1 g-device@n2")
}

// TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob: the victim of the other pod goes first.
func TestAPodDoesNotTakeWhatWasFreedForAnotherOfItsJob(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 2), nil)
	c.queue("lender", "root", deserve("h100", 0), nil)
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"on": node} }
	}
	for _, name := range []string{"n1", "n2"} {
		c.node(name, 8, "h100")
		node, _ := c.nodes.get(name)
		node = node.DeepCopy()
		node.Labels["on"] = name
		c.putNode(node)
		c.group("v-"+name, "lender", 1, nil)
		c.pod("v-"+name, "v-"+name, on(name), "h100")
	}
	c.turn()
	c.group("p", "q", 1, nil)
	c.pod("p1", "p", nil, "h100")
	c.pod("p2", "p", on("n2"), "h100")
	c.edit("p1", func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To[int32](10) })
	c.turn()
	c.expectPlaces("p1@ p2@ v-n1@n1x v-n2@n2x")
	gone, _ := c.pods.get("v-n2")
	c.deletePod(gone)
	c.control()
	c.turn()
	c.expectPlaces("p1@ p2@n2 v-n1@n1x")
	c.leave()
	c.turn()
	c.expectPlaces("p1@n1 p2@n2")
}
