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
// tried.
func TestAGangThatCannotStartKeepsNoDevices(t *testing.T) {
	c := newCalmCluster(t, "h100")
	c.queue("q", "root", deserve("h100", 4), nil)
	c.node("n1", 8, "h100", "h100")
	c.group("g", "q", 2, nil)
	for i, name := range []string{"g0", "g1"} {
		c.pod(name, "g", nil, "h100")
		claim := c.claim(name + "-h100")
		claim.Finalizers = []string{resourcev1.Finalizer}
		_, device := c.publisher("n1", []string{"h100-0", "h100-1"}[i])
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "r", Driver: fuzzDriver, Pool: "n1", Device: device.Name},
		}}}
		c.writeClaim(claim)
	}
	c.editNode("n1", func(node *corev1.Node) { node.Spec.Unschedulable = true })
	c.turn()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return c.claim("g0-h100").Status.Allocation == nil && c.claim("g1-h100").Status.Allocation == nil, nil
	})
	if err != nil {
		c.fail("the claims keep their devices: %v, %v", c.claim("g0-h100").Status.Allocation != nil, c.claim("g1-h100").Status.Allocation != nil)
	}
}
