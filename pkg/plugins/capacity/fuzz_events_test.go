// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"regexp"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// fuzzEvents records the pods for which others are evicted.
type fuzzEvents struct {
	record.EventRecorder
	mu sync.Mutex
	// evictedFor has these pods, as namespace/name.
	evictedFor []string
}

var evictedSoThat = regexp.MustCompile("^Evicted so that pod ([^ ]+) ")

// Event implements record.EventRecorder.
func (e *fuzzEvents) Event(_ runtime.Object, _, reason, message string) {
	if reason != report.ReclaimedReason && reason != report.PreemptedReason {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evictedFor = append(e.evictedFor, evictedSoThat.FindStringSubmatch(message)[1])
}

// Eventf implements record.EventRecorder.
func (e *fuzzEvents) Eventf(runtime.Object, string, string, string, ...any) {}

// checkEvictions fails if two sessions evict for the same pod, although nothing has changed in between.
func (c *fuzzCluster) checkEvictions() {
	before := c.evictedFor
	c.evictedFor = map[string]bool{}
	for name := range before {
		c.evictedFor[name] = true
	}
	for _, name := range c.events.evictedFor {
		if before[name] {
			c.fail("pods are evicted for pod %s once more", name)
		}
		c.note("  pods are evicted for pod %s", name)
		c.evictedFor[name] = true
	}
}
