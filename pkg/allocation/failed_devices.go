// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/dra"
)

// spareFor is for how long other devices are picked first, after a device did not become ready. Its driver has the time to
// taint it or to repair it.
const spareFor = 10 * time.Minute

// failedDevices has the devices that did not become ready for a pod. Several goroutines may use it.
type failedDevices struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	until map[dra.DeviceID]time.Time
}

func newFailedDevices(clock clock.PassiveClock) *failedDevices {
	return &failedDevices{clock: clock, until: map[dra.DeviceID]time.Time{}}
}

func (f *failedDevices) add(conditions []dra.DeviceCondition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, condition := range conditions {
		f.until[condition.Device] = f.clock.Now().Add(spareFor)
	}
}

// now returns the devices that others come before. It is nil if there are none.
func (f *failedDevices) now() map[dra.DeviceID]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.until, func(_ dra.DeviceID, until time.Time) bool { return !f.clock.Now().Before(until) })
	if len(f.until) == 0 {
		return nil
	}
	devices := make(map[dra.DeviceID]bool, len(f.until))
	for id := range f.until {
		devices[id] = true
	}
	return devices
}
