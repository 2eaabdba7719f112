// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/conf"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestAPodThatEndsSlowlyProtectsNoOthers: a gang takes back what it deserves beyond the room of that pod.
func TestAPodThatEndsSlowlyProtectsNoOthers(t *testing.T) {
	s := newFixture(12).queue("root", "", nil).queue("org", "root", limited(cpu(8)))
	s.queue("q", "org", func(spec *upstreamv1beta1.QueueSpec) { spec.Deserved = cpu(4) })
	s.queue("lender", "org", reclaimable)
	s.job("slow", "lender", running, nil, deleted(newPod("slow", "n1", cpu(1))))
	for i := range 7 {
		name := fmt.Sprint("low-", i)
		s.job(name, "lender", running, nil, newPod(name, "n1", cpu(1)))
	}
	s.job("gang", "q", inqueue, nil, newPod("g-0", "", cpu(1)), newPod("g-1", "", cpu(1)), newPod("g-2", "", cpu(1)), newPod("g-3", "", cpu(1)))
	if got := statuses(s.act(t)); strings.Count(got, ":Releasing") < 4 {
		t.Errorf("the gang deserves four cores, and takes nothing back: %s", got)
	}
}

// TestDevicesOfAPodThatEndsLateAreNotFreeSoon: its node and its queue count it as any other pod, and a gang gets what it deserves from others.
func TestDevicesOfAPodThatEndsLateAreNotFreeSoon(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		limit int64
	}{{"where a node is short", 1, 0}, {"where a queue is short", 4, 4}} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCalmCluster(t, "h100")
			org := schedulingv1beta1.DRAQuota{}
			if c.limit > 0 {
				org.Capability = counts(c.limit)
			}
			cluster.queue("org", "root", org, nil)
			cluster.queue("q", "org", deserve("h100", 2), nil)
			cluster.queue("lender", "org", deserve("h100", 1), func(s *schedulingv1beta1.QueueSpec) { s.Reclaimable = ptr.To(true) })
			for i := range c.nodes {
				cluster.node(fmt.Sprint("n", i+1), 16, "h100", "h100", "h100", "h100")
			}
			for _, name := range []string{"slow", "v0", "v1", "v2"} {
				cluster.single(name, "lender", "h100")
			}
			cluster.turn()
			cluster.terminateFor("slow", time.Hour)
			cluster.group("g", "q", 2, nil)
			cluster.pod("g0", "g", nil, "h100")
			cluster.pod("g1", "g", nil, "h100")
			cluster.turn()
			cluster.leaveBut("slow")
			cluster.turn()
			if got := cluster.places(); strings.Count(got, "g0@n")+strings.Count(got, "g1@n") != 2 || strings.Count(got, "v") != 1 {
				t.Errorf("the gang does not take back two devices, and no more: %s", got)
			}
		})
	}
}

// TestRoomOfAPodThatEndsLateIsPromisedToNobody: other pods give back what a queue deserves, also if root may have more than the nodes.
func TestRoomOfAPodThatEndsLateIsPromisedToNobody(t *testing.T) {
	for _, scheduler := range []string{"volcano", corev1.DefaultSchedulerName} {
		t.Run(scheduler, func(t *testing.T) {
			c := newCalmCluster(t)
			c.queue("root", "", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Capability = cpu(100) })
			c.queue("q", "root", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Deserved = cpu(4) })
			c.queue("lender", "root", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Deserved, s.Reclaimable = cpu(1), ptr.To(true) })
			c.node("n1", 8)
			for _, name := range []string{"l0", "l1", "l2", "l3"} {
				c.single(name, "lender")
			}
			c.turn()
			c.only("slow", "lender", func(p *corev1.Pod) {
				p.Spec = newPod("slow", "n1", cpu(4)).Spec
				p.Spec.SchedulerName, p.Status.Phase = scheduler, corev1.PodRunning
				if scheduler != "volcano" {
					p.Annotations = nil
				}
			})
			c.terminateFor("slow", time.Hour)
			c.only("g", "q", func(p *corev1.Pod) { p.Spec.Containers = newPod("g", "", cpu(2)).Spec.Containers })
			for range 3 {
				c.turn()
				c.leaveBut("slow")
			}
			if got := c.places(); !strings.HasPrefix(got, "g@n1") || strings.Count(got, " l") != 2 {
				t.Errorf("the pod does not get what its queue deserves from two others: %s", got)
			}
		})
	}
}

// TestPodsThatDoNotEndProtectNoOthers: their node is dead, and they should have ended a day ago.
func TestPodsThatDoNotEndProtectNoOthers(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("org", "root", schedulingv1beta1.DRAQuota{Capability: counts(4)}, nil)
	c.queue("q", "org", deserve("h100", 2), nil)
	c.queue("lender", "org", deserve("h100", 1), func(s *schedulingv1beta1.QueueSpec) { s.Reclaimable = ptr.To(true) })
	for i := range 5 {
		c.node(fmt.Sprint("n", i+1), 16, "h100", "h100", "h100", "h100")
	}
	for _, name := range []string{"s0", "s1", "v0", "v1"} {
		c.single(name, "lender", "h100")
	}
	c.turn()
	c.terminateFor("s0", 30*time.Second)
	c.terminateFor("s1", 30*time.Second)
	c.clock.Step(24 * time.Hour)
	c.group("g", "q", 1, nil)
	c.pod("g0", "g", nil, "h100")
	for range 30 {
		c.session()
		for _, name := range []string{"v0", "v1"} {
			if p, ok := c.pods.get(name); ok && p.DeletionTimestamp != nil {
				c.deletePod(p)
			}
		}
		c.control()
		c.clock.Step(time.Minute)
	}
	if got := c.places(); !strings.Contains(got, "g0@n") || strings.Count(got, "v") != 1 {
		t.Errorf("the pod does not take back one device: %s", got)
	}
}

// TestNobodyIsEvictedFromANodeThatIsGone: nothing could be evicted there.
func TestNobodyIsEvictedFromANodeThatIsGone(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{Capability: counts(2)}, nil)
	for _, n := range []string{"n1", "n2", "n3"} {
		c.node(n, 16, "h100", "h100")
		c.editNode(n, func(node *corev1.Node) { node.Labels["on"] = n })
	}
	c.only("low-c", "q", on("n3"), "h100")
	c.turn()
	c.clock.Step(1e9)
	c.only("low-a", "q", on("n1"), "h100")
	c.turn()
	c.deleteNode(c.nodes.named("n1"))
	c.group("high", "q", 1, func(g *upstreamv1beta1.PodGroup) { g.Spec.PriorityClassName = "high" })
	c.pod("high", "high", on("n2"), "h100")
	for range 4 {
		c.turn()
		c.leave()
	}
	if got := c.places(); got != "high@n2 low-a@n1" {
		t.Errorf("the pod does not take the place of the one on the other node: %s", got)
	}
}

// TestAPodOfAnotherSchedulerPaysForItsCardsUntilItHasEnded, however late that is.
func TestAPodOfAnotherSchedulerPaysForItsCardsUntilItHasEnded(t *testing.T) {
	for name, end := range map[string]time.Time{"soon": time.Now(), "late": time.Now().Add(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(16, 16).model(1, "H100").model(2, "H100").queue("root", "", nil).queue("q", "root", nil)
			s.withCards(map[string]string{"root": `{"H100": 8}`})
			foreign := gpuPod("foreign", "n1", 8, "")
			foreign.Spec.SchedulerName, foreign.DeletionTimestamp = corev1.DefaultSchedulerName, &metav1.Time{Time: end}
			s.strays = []*corev1.Pod{foreign}
			s.job("j", "q", inqueue, nil, gpuPod("next", "", 8, ""))
			expectStatuses(t, s.act(t), "next:Pending")
		})
	}
}

// terminateFor deletes a pod with a grace period, as the API server does: deletionTimestamp is the end of the period.
func (c *fuzzCluster) terminateFor(name string, grace time.Duration) {
	pod := c.pods.named(name).DeepCopy()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: c.clock.Now().Add(grace)}, ptr.To(int64(grace/time.Second))
	c.putPod(pod)
}

// leaveBut ends the pods that are being deleted, except one.
func (c *fuzzCluster) leaveBut(name string) {
	for _, place := range strings.Fields(c.places()) {
		if leaving, _, _ := strings.Cut(place, "@"); strings.HasSuffix(place, "x") && leaving != name {
			c.deletePod(c.pods.named(leaving))
		}
	}
	c.control()
}

// TestMinimumsThatNoLedgerCanCountKeepNobodyOut: two jobs were let in, and then asked for more than the ledger can add up.
func TestMinimumsThatNoLedgerCanCountKeepNobodyOut(t *testing.T) {
	s := newFixture(64).queue("root", "", nil).queue("org", "root", nil).queue("q", "org", nil).queue("lender", "org", reclaimable).stocked(4)
	s.queue("third", "root", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"org": {Capability: counts(4)}, "q": {Deserved: counts(2)}, "lender": {Deserved: counts(2)}})
	s.lends(4)
	for name, minimum := range map[string]string{"a": "1e29", "b": "70141183460469231731687303715"} {
		s.job(name, "third", inqueue, corev1.ResourceList{"cpu": resource.MustParse(minimum)})
	}
	s.job("p", "q", pending, cpu(1), s.claimed(1, newPod("p", "", cpu(1))))
	conf.EnabledActionMap = map[string]bool{"reclaim": true}
	t.Cleanup(func() { conf.EnabledActionMap = nil })
	if got := s.act(t).Jobs["ns/p"].PodGroup.Status.Phase; got != "Inqueue" && got != "Running" {
		t.Errorf("the job that deserves what it asks for is %s", got)
	}
}
