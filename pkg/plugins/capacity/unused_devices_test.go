// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
			c.turn()
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
				return !c.hasDevices("g0") && !c.hasDevices("g1"), nil
			})
			if err != nil {
				c.fail("the claims keep their devices: %v, %v", c.hasDevices("g0"), c.hasDevices("g1"))
			}
		})
	}
}

// giveDevices allocates a device of node n1 to the claim of a pod, if it has one.
func (c *fuzzCluster) giveDevices(pod string) {
	claim := c.claim(pod + "-h100")
	if claim == nil {
		return
	}
	claim.Finalizers = []string{resourcev1.Finalizer}
	_, device := c.publisher("n1", map[string]string{"g0": "h100-0", "g1": "h100-1"}[pod])
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: fuzzDriver, Pool: "n1", Device: device.Name},
	}}}
	c.writeClaim(claim)
}

func (c *fuzzCluster) hasDevices(pod string) bool {
	claim := c.claim(pod + "-h100")
	return claim != nil && claim.Status.Allocation != nil
}
