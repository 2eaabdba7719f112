// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/queueschema"
)

// errNoDRA says why the quota of a queue without spec.dra is unknown.
var errNoDRA = errors.New("the Queue CRD on Karmada's API server has no field spec.dra, so that quotas of devices may be hidden: apply config/crd/scheduling.volcano.sh_queues.yaml again")

// queueSchema knows whether the API server serves spec.dra of queues.
type queueSchema struct {
	mu sync.Mutex
	// lacks says that the API server does not serve the field, as far as is known.
	lacks bool
	// outdated is closed, and replaced, when the API server begins to serve the field.
	outdated chan struct{}
}

func newQueueSchema() *queueSchema { return &queueSchema{outdated: make(chan struct{})} }

// note notes an answer of the API server. It reports whether that is another one than before.
func (s *queueSchema) note(serves bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacks != serves {
		return false
	}
	if s.lacks = !serves; serves {
		close(s.outdated)
		s.outdated = make(chan struct{})
	}
	return true
}

// untilServed returns a channel that is closed when the API server begins to serve the field.
func (s *queueSchema) untilServed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated
}

// LacksDRA reports whether the API server does not serve spec.dra of queues. Then any write of a queue drops the field.
func (c *Cache) LacksDRA() bool {
	c.queueSchema.mu.Lock()
	defer c.queueSchema.mu.Unlock()
	return c.queueSchema.lacks
}

// watchSchema asks until ctx ends whether the API server serves spec.dra of queues.
func (c *Cache) watchSchema(ctx context.Context) {
	poll := time.NewTicker(queueschema.ProbePeriod)
	defer poll.Stop()
	for {
		c.probeSchema(ctx)
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

// probeSchema asks whether the API server serves spec.dra of queues. Without an answer, the last one holds.
func (c *Cache) probeSchema(ctx context.Context) {
	if c.clients.ServesDRA == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queueschema.ProbePeriod)
	defer cancel()
	serves, err := c.clients.ServesDRA(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		klog.ErrorS(err, "Failed to find out whether the API server serves spec.dra of queues")
	case err != nil || !c.queueSchema.note(serves):
	case serves:
		klog.InfoS("The Queue CRD on Karmada's API server has the field spec.dra again")
		c.change()
	default:
		klog.ErrorS(errNoDRA, "Queues without spec.dra grant nothing more")
		c.change()
	}
}
