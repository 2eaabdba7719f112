// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/dra"
)

// spareFor is the time for which other devices are preferred after a device did not become ready. In this time, its driver can
// taint or repair it.
const spareFor = 10 * time.Minute

// failedDevices holds the devices that did not become ready for a pod. It is safe for concurrent use.
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

// now returns the devices to pick last, or nil.
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
