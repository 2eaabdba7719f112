// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/settings"
)

// TestEachEvictionHasItsOwnTimeLimit: a pod was evicted for a job long ago. Another pod of the job gets what is freed for it.
func TestEachEvictionHasItsOwnTimeLimit(t *testing.T) {
	c := lent(t, important, "v1", "v2")
	c.expectPlaces("v1@n1 v2@n1")

	c.group("j", "q", 1, nil)
	c.pod("p1", "j", nil, "h100")
	c.pod("p2", "j", func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}, "h100")
	c.expectTurn("p1@ p2@ v1@n1x v2@n1")
	c.leave()
	c.expectTurn("p1@n1 p2@ v2@n1")

	c.clock.SetTime(c.clock.Now().Add(settings.DefaultReservationTimeout + time.Minute))
	c.turn()
	c.edit("p2", func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil })
	c.expectTurn("p1@n1 p2@ v2@n1x")
	c.single("v2again", "lender", "h100")
	c.turn()
	c.leave()
	c.expectTurn("p1@n1 p2@n1 v2again@")
}

// TestQueuesDoNotTakeTurnsToEvict: what one queue takes back by its right to one dimension, another queue must not take back by its right
// to another.
func TestQueuesDoNotTakeTurnsToEvict(t *testing.T) {
	c := newCalmCluster(t, "h100", "a100")
	c.queue("q", "root", deserve("h100", 1), nil)
	c.queue("lender", "root", deserve("a100", 1), nil)
	c.node("n1", 8, "h100", "a100")
	c.single("v", "lender", "h100", "a100")
	c.turn()
	c.single("p", "q", "h100", "a100")
	evictions := 0
	for i := range 10 {
		c.session()
		for _, pod := range slices.Clone(c.pods) {
			if pod.DeletionTimestamp != nil {
				evictions++
				group := pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey]
				c.leave()
				c.pod(fmt.Sprint(pod.Name, i), group, nil, "h100", "a100")
			}
		}
		c.control()
	}
	if evictions > 1 {
		t.Errorf("%d pods were evicted: %s\n%s", evictions, c.places(), strings.Join(c.history, "\n"))
	}
}

// TestAJobAsksAgainWhenSomethingChanges: at first, no pod can be evicted.
func TestAJobAsksAgainWhenSomethingChanges(t *testing.T) {
	for _, test := range []struct {
		name          string
		arrange, mend func(*fuzzCluster)
	}{
		{"the victim may be preempted", func(c *fuzzCluster) {
			c.edit("v", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "false" })
		}, func(c *fuzzCluster) {
			c.edit("v", func(pod *corev1.Pod) { pod.Labels[upstreamv1beta1.PodPreemptable] = "true" })
		}},
		{"the gang of the victim needs fewer pods", func(c *fuzzCluster) {
			c.pod("v-1", "v", nil)
			c.editGroup("v", func(group *upstreamv1beta1.PodGroup) { group.Spec.MinMember = 2 })
			c.turn()
		}, func(c *fuzzCluster) {
			c.editGroup("v", func(group *upstreamv1beta1.PodGroup) { group.Spec.MinMember = 1 })
		}},
		{"the claim of the pod is created", func(c *fuzzCluster) {
			c.edit("p", func(pod *corev1.Pod) {
				pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "h100", ResourceClaimName: ptr.To("named")}}
			})
		}, func(c *fuzzCluster) {
			c.put("resourceclaims", &resourcev1.ResourceClaim{ObjectMeta: c.meta("named", "ns"), Spec: oneOf("h100")})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := lent(t, nil, "v")
			c.single("p", "q", "h100")
			test.arrange(c)
			c.turn()
			if c.pods.named("v").DeletionTimestamp != nil {
				c.fail("the pod was evicted at once")
			}
			test.mend(c)
			c.turn()
			if c.pods.named("v").DeletionTimestamp == nil {
				c.fail("the pod was not evicted")
			}
		})
	}
}

// TestAForgedNominationTakesNothing: a user has written the nominated node of an older pod.
func TestAForgedNominationTakesNothing(t *testing.T) {
	c := lent(t, nil, "v")
	c.single("x", "lender", "h100")
	c.edit("x", func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "n1" })
	c.clock.SetTime(c.clock.Now().Add(time.Second))
	c.single("p", "q", "h100")
	c.expectTurn("p@ v@n1x x@")
	c.turn()
	c.leave()
	c.expectTurn("p@n1 x@")
}

// TestWhatWasFreedSurvivesRestarts: the scheduler restarts before and after the victim is gone.
func TestWhatWasFreedSurvivesRestarts(t *testing.T) {
	c := lent(t, important, "v")
	c.single("p", "q", "h100")
	c.expectTurn("p@ v@n1x")
	c.single("again", "lender", "h100")
	c.restart()
	c.turn()
	c.restart()
	c.expectPlaces("again@ p@ v@n1x")
	c.leave()
	c.restart()
	c.expectTurn("again@ p@n1")
}

// TestWhatIsLeavingGoesToThoseWhoComeFirst: a pod without victims of its own does not keep other pods from the room of leaving pods.
func TestWhatIsLeavingGoesToThoseWhoComeFirst(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", schedulingv1beta1.DRAQuota{}, nil)
	c.node("n1", 8, "h100", "h100")
	c.single("a", "q", "h100")
	c.single("r", "q", "h100")
	c.turn()
	c.single("low", "q", "h100")
	c.terminate(c.pods.named("a"))
	c.expectTurn("a@n1x low@ r@n1")
	c.group("high", "q", 1, func(group *upstreamv1beta1.PodGroup) { group.Spec.PriorityClassName = "high" })
	c.pod("high", "high", nil, "h100")
	c.expectTurn("a@n1x high@ low@ r@n1")
	c.leave()
	c.expectTurn("high@n1 low@ r@n1")
}

// TestTheNodeOfANominatedPodGoes: the pod asks for room elsewhere.
func TestTheNodeOfANominatedPodGoes(t *testing.T) {
	c := lent(t, nil, "v1")
	c.single("p", "q", "h100")
	c.expectTurn("p@ v1@n1x")
	c.deleteNode(c.nodes.named("n1"))
	c.node("n2", 8, "h100")
	c.single("v2", "lender", "h100")
	c.edit("v2", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Status.Phase = "n2", corev1.PodRunning })
	claim := c.claim("v2-h100")
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: fuzzDriver, Pool: "n2", Device: "h100-0"}}}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "v2", UID: c.pods.named("v2").UID}}
	c.writeClaim(claim)
	c.expectTurn("p@ v1@n1x v2@n2x")
	c.leave()
	c.expectTurn("p@n2")
}
