// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/settings"
)

// TestAQueueGetsTheDeviceThatItDeservesByName: another queue deserves a device of any class, has this one, and could have another, which is free.
func TestAQueueGetsTheDeviceThatItDeservesByName(t *testing.T) {
	c := newCalmCluster(t, "h100", "a100", "any")
	c.options.Arguments = map[string]any{settings.DeviceAccounting: settings.AccountMatching}
	c.queue("general", "root", deserve("any", 1), nil)
	c.queue("special", "root", deserve("h100", 1), nil)
	c.node("n1", 8, "h100", "a100")
	c.single("v", "general", "any")
	c.expectTurn("v@n1")
	c.single("p", "special", "h100")
	c.expectTurn("p@ v@n1x")
	c.leave()
	c.single("again", "general", "any")
	c.turn()
	c.expectTurn("again@n1 p@n1")
}
