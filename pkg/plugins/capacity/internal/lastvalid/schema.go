// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/queueschema"
)

const (
	// probeSpacing is the shortest time between two probes that sessions ask for.
	probeSpacing = time.Second
	// probeTimeout limits the time of one probe.
	probeTimeout = 10 * time.Second
)

// schema is the result of probes of the field spec.dra. Probes are numbered from 1, in the order of their start.
type schema struct {
	// begun is the number of the latest probe begun.
	begun int
	// served and missing are the last probes that found the field served and not served.
	served, missing int
	// err says why the last probe failed.
	err error
}

// serves reports whether the API server serves spec.dra, as far as is known.
func (s *schema) serves() bool { return s.served > s.missing }

// servesSince reports whether a probe after the given one has found the field served, and no later one has found it missing.
func (s *schema) servesSince(number int) bool { return s.serves() && s.served > number }

// lacks reports whether the API server does not serve spec.dra, as far as is known.
func (s *schema) lacks() bool { return s.missing > s.served }

// watchSchema probes until ctx ends: at once, every queueschema.ProbePeriod, and when a session asks.
func (c *Cache) watchSchema(ctx context.Context) {
	ticker := c.clock.NewTicker(queueschema.ProbePeriod)
	defer ticker.Stop()
	for {
		began := c.clock.Now()
		c.probe(ctx)
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				again = true
			case <-c.asked:
				// Sessions ask until they have an answer: no request is lost.
				again = c.clock.Since(began) >= probeSpacing
			}
		}
	}
}

// ask asks for a probe soon.
func (c *Cache) ask() {
	select {
	case c.asked <- struct{}{}:
	default:
	}
}

// probe finds out whether the API server serves spec.dra. It reports whether it definitely does.
func (c *Cache) probe(ctx context.Context) bool {
	c.mu.Lock()
	c.schema.begun++
	number := c.schema.begun
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	serves, err := c.servesDRA(ctx)
	if err != nil && ctx.Err() == context.Canceled {
		return false
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	lacked := c.schema.lacks()
	if c.schema.note(number, serves, err); lacked && c.schema.serves() {
		close(c.outdated)
		c.outdated = make(chan struct{})
	}
	return err == nil && serves
}

// note notes the result of a probe.
func (s *schema) note(number int, serves bool, err error) {
	before, erred := *s, s.err != nil
	s.err = err
	switch {
	case err != nil && !erred:
		klog.ErrorS(err, "Failed to find out whether the API server serves spec.dra of queues, quotas that are missing from queues stay in force")
		return
	case err != nil:
		return
	case serves:
		s.served = max(s.served, number)
	default:
		s.missing = max(s.missing, number)
	}
	report.QuotaFieldServed(s.serves())
	switch {
	case s.lacks() && !before.lacks():
		klog.ErrorS(nil, "The Queue CRD in the cluster has no field spec.dra, so that quotas of devices cannot be read or changed: apply config/crd/scheduling.volcano.sh_queues.yaml again. The last valid quotas hold")
	case s.serves() && before.lacks():
		klog.InfoS("The Queue CRD in the cluster has the field spec.dra again")
	}
}
