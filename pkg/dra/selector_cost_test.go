// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestSlowSelectorsWaitForTheirTurn: nothing interrupts the compilation of a long selector, or repetitions within repetitions, so that only so
// many searches begin as the budget is enough for.
func TestSlowSelectorsWaitForTheirTurn(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat("1,", 30), ",")
	for _, expression := range []string{
		"[" + list + "].all(x, [" + list + "].all(y, x+y+%d > 0)) && device.driver == 'nobody'",
		strings.Repeat("1 == 1 && ", 500) + "%d < 0",
	} {
		allocator, _ := sizes("80 80").allocator(nil)
		budget, begun := NewBudget(BudgetOfSession), 0
		for i := range 100 {
			c := claim(exactly("r", "gpu", 1))
			c.Spec.Devices.Requests[0].Exactly.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: fmt.Sprintf(expression, i)}}}
			node := budget.Of("q", fmt.Sprint("j", i)).Node()
			node.begin(2)
			if node.reserve() == nil {
				begun++
				continue // it goes on for as long as this takes
			}
			unfinished := new(UnfinishedError)
			_, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{c}, Quota{Accepts: atMost(nil)}, budget.Of("q", fmt.Sprint("j", i)).Node())
			if !errors.As(err, &unfinished) || !unfinished.Later {
				t.Errorf("search %d: %v, want that it goes on later", i, err)
			}
		}
		if begun != BudgetOfSession/leastForSlow {
			t.Errorf("%d searches begin at the same time", begun)
		}
	}
}
