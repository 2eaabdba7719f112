// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strconv"
	"testing"
)

// TestAReplicaThatDoesNotLeadRemembersNoMoreAndMoreChanges: it takes no snapshots, and users create and delete objects all the time.
func TestAReplicaThatDoesNotLeadRemembersNoMoreAndMoreChanges(t *testing.T) {
	var c changes
	c.add("first")
	for i := range 3 * maxChanges {
		c.add("gone " + strconv.Itoa(i))
	}
	if n := len(c.ids); n > maxChanges {
		t.Errorf("it remembers %d changes", n)
	}
	if taken := c.take(); !taken.has("first") {
		t.Error("when it leads, it does not know what has changed before")
	}
	c.add("next")
	if taken := c.take(); taken.has("first") || !taken.has("next") {
		t.Error("afterwards, it does not know what has changed since the last snapshot")
	}
}
