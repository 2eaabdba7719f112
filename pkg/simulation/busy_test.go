// SPDX-License-Identifier: Apache-2.0

//go:build go1.26

package simulation

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestOthersWait tests that sessions wait for the handlers of events, which run in other goroutines.
func TestOthersWait(t *testing.T) {
	var ended atomic.Bool
	started := make(chan struct{})
	go func() {
		close(started)
		for !ended.Load() {
		}
	}()
	<-started
	for range 100 {
		if othersWait() {
			t.Error("another goroutine runs, which was not seen")
		}
	}
	ended.Store(true)
	for !othersWait() { // the garbage collector may run for a while
		time.Sleep(look)
	}
}
