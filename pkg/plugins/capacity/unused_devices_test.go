// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestAGangThatCannotStartKeepsNoDevices: its claims were allocated, and its pods were not bound. The first pod that no node suits is the only one that is
// tried, also if it is a launcher that asks for no devices itself.
func TestAGangThatCannotStartKeepsNoDevices(t *testing.T) {
	for name, classes := range map[string][]string{"worker": {"h100"}, "launcher": nil} {
		t.Run(name, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			c.queue("q", "root", deserve("h100", 4), nil)
			c.node("n1", 8, "h100", "h100")
			c.group("g", "q", 2, nil)
			c.pod("g0", "g", nil, classes...)
			c.pod("g1", "g", nil, "h100")
			c.giveDevices("g0")
			c.giveDevices("g1")
			c.editNode("n1", func(node *corev1.Node) { node.Spec.Unschedulable = true })
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
				c.turn()
				c.clock.Step(time.Second)
				return !c.hasDevices("g0") && !c.hasDevices("g1"), nil
			})
			if err != nil {
				c.fail("the claims keep their devices: %v, %v", c.hasDevices("g0"), c.hasDevices("g1"))
			}
		})
	}
}

// TestPodsThatWaitKeepNoDevices: a crash left devices to pods that were not bound, and the quota has room for one gang or pod.
func TestPodsThatWaitKeepNoDevices(t *testing.T) {
	pair := func(c *fuzzCluster, gang string, phase upstreamv1beta1.PodGroupPhase, holder string) {
		c.group(gang, "q", 2, func(group *upstreamv1beta1.PodGroup) { group.Status.Phase = phase })
		c.pod(gang+"0", gang, nil, "h100")
		c.pod(gang+"1", gang, nil, "h100")
		c.giveDevices(gang + holder)
	}
	pairs := func(phase upstreamv1beta1.PodGroupPhase, holder string) func(*fuzzCluster) {
		return func(c *fuzzCluster) {
			pair(c, "f", phase, holder)
			pair(c, "g", phase, holder)
		}
	}
	incomplete := func(change func(*corev1.Pod)) func(*fuzzCluster) {
		return func(c *fuzzCluster) {
			c.group("f", "q", 3, nil)
			c.pod("f0", "f", nil, "h100")
			c.pod("f1", "f", nil, "h100")
			if change != nil {
				c.pod("f2", "f", change, "h100")
			}
			c.giveDevices("f0")
			c.group("g", "q", 1, nil)
			c.pod("g0", "g", nil, "h100")
		}
	}
	gated := func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}} }
	outside := func(c *fuzzCluster) {
		incomplete(nil)(c)
		c.turn() // the scheduler has had the gang
		c.deleteGroup(c.groups.named("f"))
	}
	either := []string{"f0@n1 f1@n1 g0@ g1@", "f0@ f1@ g0@n1 g1@n1"}
	for name, test := range map[string]struct {
		room  int64
		given func(*fuzzCluster)
		want  []string
	}{
		"two gangs, and the first pods have devices":        {2, pairs(upstreamv1beta1.PodGroupInqueue, "0"), either},
		"two gangs, and the last pods have devices":         {2, pairs(upstreamv1beta1.PodGroupInqueue, "1"), either},
		"two gangs that are not let in":                     {2, pairs(upstreamv1beta1.PodGroupPending, "1"), either},
		"a gang that lacks a pod, before another pod":       {1, incomplete(nil), []string{"f0@ f1@ g0@n1"}},
		"a gang whose PodGroup is gone, before another pod": {1, outside, []string{"f0@ f1@ g0@n1"}},
		"a gang with a scheduling gate, before another pod": {1, incomplete(gated), []string{"f0@ f1@ f2@ g0@n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			c.queue("q", "root", schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: test.room}}}, nil)
			c.node("n1", 8, "h100", "h100", "h100", "h100")
			test.given(c)
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
				c.turn()
				c.clock.Step(time.Second)
				return slices.Contains(test.want, c.places()), nil
			})
			if err != nil {
				c.fail("pods are %s, want %s", c.places(), test.want)
			}
		})
	}
}

// TestAClaimThatIsReservedForNoPodGivesItsDevicesBack: its pod was not bound after all. Kubernetes' controller takes devices away only when it removes a
// reservation itself, and others may allocate claims in advance.
func TestAClaimThatIsReservedForNoPodGivesItsDevicesBack(t *testing.T) {
	bound := func(c *fuzzCluster) {
		c.only("others", "q", func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulerName = "n1", "another-scheduler"
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To("named-h100")}}
		})
	}
	owned := func(c *fuzzCluster) {
		c.single("owner", "q")
		claim, owner := c.claim("named-h100"), c.pods.named("owner")
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}}
		c.writeClaim(claim)
	}
	for name, test := range map[string]struct {
		queue string
		given func(*fuzzCluster)
		kept  bool
		want  string
	}{
		"this scheduler allocated it":                        {queue: "q", want: "p@n1"},
		"another scheduler allocated it":                     {queue: "", kept: true, want: "p@n1"},
		"another scheduler has placed a pod that names it":   {queue: "q", given: bound, kept: true, want: "others@n1 p@"},
		"its user says that it was made for a pod that runs": {queue: "q", given: owned, want: "owner@n1 p@n1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCalmCluster(t, "h100")
			c.queue("q", "root", schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: 1}}}, nil)
			c.node("n1", 8, "h100", "h100")
			c.put("resourceclaims", &resourcev1.ResourceClaim{ObjectMeta: c.meta("named-h100", "ns"), Spec: oneOf("h100")})
			if test.given != nil {
				test.given(c)
			}
			c.allocate("named-h100", "h100-0", test.queue)
			c.single("p", "q", "h100")
			for range 15 {
				c.turn()
				c.clock.Step(time.Second)
			}
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
				c.turn()
				return c.hasDevices("named") == test.kept && c.places() == test.want, nil
			})
			if err != nil {
				c.fail("the claim has devices: %v, want %v, and pods are %s, want %s", c.hasDevices("named"), test.kept, c.places(), test.want)
			}
		})
	}
}

// giveDevices allocates a device of node n1 to the claim of a pod, if it has one.
func (c *fuzzCluster) giveDevices(pod string) {
	device := map[string]string{"g0": "h100-0", "g1": "h100-1", "f0": "h100-2", "f1": "h100-3"}[pod]
	if c.claim(pod+"-h100") != nil {
		c.allocate(pod+"-h100", device, "q", resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: c.pods.named(pod).UID})
	}
}

// allocate allocates a device of node n1 to a claim, with the record of a queue unless that is empty.
func (c *fuzzCluster) allocate(name, device, queue string, users ...resourcev1.ResourceClaimConsumerReference) {
	claim := c.claim(name)
	claim.Finalizers = []string{resourcev1.Finalizer}
	_, published := c.publisher("n1", device)
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: fuzzDriver, Pool: "n1", Device: published.Name},
	}}}
	claim.Status.ReservedFor = users
	if queue != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, chargerecord.QueueAnnotation, queue)
	}
	c.writeClaim(claim)
}

func (c *fuzzCluster) hasDevices(pod string) bool {
	claim := c.claim(pod + "-h100")
	return claim != nil && claim.Status.Allocation != nil
}
