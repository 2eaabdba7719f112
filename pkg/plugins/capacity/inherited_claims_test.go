// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// sharedClaim puts a claim that has a device, and nobody knows for which queue. It returns what makes pods name it.
func (c *fuzzCluster) sharedClaim() (users func(*corev1.Pod)) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: c.meta("shared", "ns"), Spec: oneOf("h100")}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: claim.Spec.Devices.Requests[0].Name, Driver: fuzzDriver, Pool: "n1", Device: "h100-0"},
	}}}
	c.put("resourceclaims", claim)
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "shared", ResourceClaimName: &claim.Name})
	}
}

// sharedOfForeign puts a claim that a pod of another scheduler uses. It returns what makes pods name it.
func (c *fuzzCluster) sharedOfForeign(change func(*corev1.Pod)) (users func(*corev1.Pod)) {
	users = c.sharedClaim()
	claim := c.claim("shared").DeepCopy()
	c.group("none", "none", 1, nil)
	c.pod("foreign", "none", func(pod *corev1.Pod) {
		users(pod)
		pod.Annotations, pod.Spec.SchedulerName, pod.Spec.NodeName, pod.Status.Phase = nil, corev1.DefaultSchedulerName, "n1", corev1.PodRunning
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		if change != nil {
			change(pod)
		}
	})
	c.writeClaim(claim)
	return users
}

// inherited is inheriting after some turns in which a pod heir of queue team has joined the claim of a pod of another scheduler.
func inherited(t *testing.T, turns int) (*fuzzCluster, func(*corev1.Pod)) {
	c := inheriting(t, 1)
	users := c.sharedOfForeign(nil)
	c.only("heir", "team", users)
	for range turns {
		c.turn()
	}
	return c, users
}

// inheriting has a queue team that may have n devices, and a queue none that may have none.
func inheriting(t *testing.T, n int64) *fuzzCluster {
	c := newCalmCluster(t, "h100")
	c.queue("none", "root", schedulingv1beta1.DRAQuota{Capability: counts(0)}, nil)
	c.queue("team", "root", schedulingv1beta1.DRAQuota{Capability: counts(n)}, nil)
	c.node("n1", 8, "h100", "h100", "h100", "h100")
	return c
}

// TestTheHeirOfALeavingPodPays: root paid for the claim of a pod of another scheduler.
func TestTheHeirOfALeavingPodPays(t *testing.T) {
	c := inheriting(t, 1)
	users := c.sharedOfForeign(func(pod *corev1.Pod) {
		pod.DeletionTimestamp = &metav1.Time{Time: c.clock.Now().Add(30 * time.Second)}
	})
	c.only("heir", "team", users)
	c.turn()
	if foreign, runs := c.pods.get("foreign"); runs {
		c.deletePod(foreign)
	}
	c.turn()
	c.single("other", "team", "h100")
	c.turn()
	c.expectTurn("heir@n1 other@")
}

// TestAGangInheritsAClaimOnce: its pods share it.
func TestAGangInheritsAClaimOnce(t *testing.T) {
	c := inheriting(t, 1)
	users := c.sharedOfForeign(nil)
	c.group("gang", "team", 2, nil)
	c.pod("a", "gang", users)
	c.pod("b", "gang", users)
	for range 3 {
		c.turn()
	}
	c.expectPlaces("a@n1 b@n1 foreign@n1")
}

// TestAnHeirChoosesWhatFitsBesideWhatItInherits: it asks for two devices or one.
func TestAnHeirChoosesWhatFitsBesideWhatItInherits(t *testing.T) {
	c := inheriting(t, 2)
	users := c.sharedOfForeign(nil)
	own := &resourcev1.ResourceClaim{ObjectMeta: c.meta("own", "ns")}
	own.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "two", DeviceClassName: "h100", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
		{Name: "one", DeviceClassName: "h100", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}}
	c.put("resourceclaims", own)
	c.only("heir", "team", func(pod *corev1.Pod) {
		users(pod)
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "own", ResourceClaimName: &own.Name})
	})
	c.turn()
	c.expectTurn("foreign@n1 heir@n1")
	if got := len(c.claim("own").Status.Allocation.Devices.Results); got != 1 {
		t.Errorf("team holds 1 device of the shared claim and %d of its own, and may have 2", got)
	}
}

// TestTheChargeOfAnHeirStaysBesideAnOlderPod of an unknown queue, and others may join without room.
func TestTheChargeOfAnHeirStaysBesideAnOlderPod(t *testing.T) {
	for turns := 2; turns < 6; turns++ {
		c, users := inherited(t, turns)
		c.only("joins", "none", users) // no room is needed in its queue
		c.turn()
		if got := c.places(); got != "foreign@n1 heir@n1 joins@n1" {
			t.Errorf("after %d turns, a pod that joins: %s", turns, got)
		}
	}
}

// TestTheChargeOfAnHeirOutlivesIt while an older pod of an unknown queue uses the claim.
func TestTheChargeOfAnHeirOutlivesIt(t *testing.T) {
	for turns := 2; turns < 6; turns++ {
		c, _ := inherited(t, turns)
		c.deletePod(c.pods.named("heir"))
		c.single("other", "team", "h100")
		c.turn()
		c.turn()
		if got := c.places(); got != "foreign@n1 other@" {
			t.Errorf("after %d turns: %s", turns, got)
		}
	}
}

// TestAClaimOfAKnownQueueIsJoinedBesideAnOlderPod of another scheduler. No room is needed.
func TestAClaimOfAKnownQueueIsJoinedBesideAnOlderPod(t *testing.T) {
	c := inheriting(t, 1)
	claim := &resourcev1.ResourceClaim{ObjectMeta: c.meta("shared", "ns"), Spec: oneOf("h100")}
	c.put("resourceclaims", claim)
	users := func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimName: &claim.Name}}
	}
	c.pod("foreign", "none", func(pod *corev1.Pod) {
		users(pod)
		pod.Annotations, pod.Spec.SchedulerName, pod.CreationTimestamp = nil, corev1.DefaultSchedulerName, metav1.NewTime(time.Unix(1, 0))
	})
	c.only("first", "team", users)
	c.turn()
	c.turn()
	c.edit("foreign", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n1", corev1.PodRunning })
	foreign, _ := c.pods.get("foreign")
	written := c.claim("shared").DeepCopy()
	written.Status.ReservedFor = append(written.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: foreign.Name, UID: foreign.UID})
	c.writeClaim(written)
	c.turn()
	c.only("joins", "none", users)
	for range 4 {
		c.turn()
	}
	c.expectPlaces("first@n1 foreign@n1 joins@n1")
}

// TestAClaimOfAnUnknownQueueIsInheritedOnlyWithRoom: nobody uses the claim, or a pod of another scheduler does, so root pays. The first queue that is known
// pays for it from then on, also while that pod runs.
func TestAClaimOfAnUnknownQueueIsInheritedOnlyWithRoom(t *testing.T) {
	for _, used := range []bool{false, true} {
		c := newCalmCluster(t, "h100")
		c.queue("root", "", schedulingv1beta1.DRAQuota{Capability: counts(2)}, nil)
		for name, n := range map[string]int64{"none": 0, "team": 1} {
			c.queue(name, "root", schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: n}}}, nil)
		}
		c.node("n1", 8, "h100", "h100", "h100")
		var users func(*corev1.Pod)
		if used {
			users = c.sharedOfForeign(nil)
		} else {
			users = c.sharedClaim()
		}
		expect := func(want string) {
			if used {
				want = "foreign@n1 " + want
			}
			c.expectPlaces(want)
		}
		c.only("of-none", "none", users)
		c.turn()
		expect("of-none@")
		for _, name := range []string{"heir", "other"} {
			c.group(name, "team", 1, nil)
		}
		c.pod("heir", "heir", users)
		c.pod("other", "other", nil, "h100")
		for range 2 {
			c.turn()
		}
		expect("heir@n1 of-none@n1 other@")
		if foreign, runs := c.pods.get("foreign"); runs {
			c.deletePod(foreign)
		}
		used = false
		c.expectTurn("heir@n1 of-none@n1 other@")
	}
}

// TestAQueueThatMayHaveNoDevicesInheritsNone: it lists no class, and deviceQuotaRequired is set.
func TestAQueueThatMayHaveNoDevicesInheritsNone(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.options.DeviceQuotaRequired = true
	c.queue("closed", "root", schedulingv1beta1.DRAQuota{}, nil)
	c.queue("open", "root", schedulingv1beta1.DRAQuota{Capability: counts(1)}, nil)
	c.node("n1", 8, "h100", "h100")
	users := c.sharedClaim()
	expect := map[string]string{"closed": "of-closed@", "open": "of-closed@ of-open@n1"}
	for _, queue := range []string{"closed", "open"} {
		c.only("of-"+queue, queue, users)
		c.expectTurn(expect[queue])
	}
}
