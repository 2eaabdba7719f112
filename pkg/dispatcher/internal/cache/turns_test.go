// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// TestManyRequestsOfANamespaceKeepNoOtherOneWaiting: each may have to count many workloads, and the API server waits for ten seconds.
func TestManyRequestsOfANamespaceKeepNoOtherOneWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var order []string
		end := turns.take("a")
		for range 50 {
			go func() {
				defer turns.take("a")()
				order = append(order, "a")
			}()
		}
		synctest.Wait()
		go func() {
			defer turns.take("b")()
			order = append(order, "b")
		}()
		synctest.Wait()
		end()
		synctest.Wait()
		if len(order) != 51 || order[0] != "b" {
			t.Errorf("they came in the order %v, want b first of 51", order)
		}
		if len(turns.of) > 0 {
			t.Errorf("still noted: %s", fmt.Sprint(turns.of))
		}
	})
}
