// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/queueschema"
)

// confirmTimeout limits the time that a cycle waits for the API server to confirm quotas.
const confirmTimeout = 2 * time.Second

var (
	// errNoDRA says why the quota of a queue without spec.dra is unknown.
	errNoDRA = errors.New("the Queue CRD on Karmada's API server has no field spec.dra, so that quotas of devices may be hidden: apply config/crd/scheduling.volcano.sh_queues.yaml again")
	// errUnconfirmed says the same when the API server may serve the field.
	errUnconfirmed = errors.New("the API server has not confirmed yet that the queue has no spec.dra: see the log of the dispatcher if this lasts")
)

// queueSchema knows which queues without spec.dra have no quota of devices. The others may have one that the API server hides.
type queueSchema struct {
	mu sync.Mutex
	// lacks says that the API server does not serve the field, as far as is known.
	lacks bool
	// confirmed are the queues that the API server listed without the field when it served it.
	confirmed map[types.UID]bool
	// outdated is closed, and replaced, when the informer must list queues again.
	outdated chan struct{}
}

func newQueueSchema() *queueSchema { return &queueSchema{outdated: make(chan struct{})} }

// note notes that the API server serves the field, and what it lists then, or that it does not. Stale says that the informer shows something else. It reports
// whether the API server has turned, and whether the quota of a queue may have become known or unknown.
func (s *queueSchema) note(serves bool, listed []schedulingv1beta1.Queue, stale bool) (turned, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turned = s.lacks == serves
	if s.lacks = !serves; !serves {
		return turned, turned
	}
	before := s.confirmed
	s.confirmed = map[types.UID]bool{}
	for i := range listed {
		if listed[i].Spec.DRA == nil {
			s.confirmed[listed[i].UID] = true
		}
	}
	if turned || stale {
		close(s.outdated)
		s.outdated = make(chan struct{})
	}
	return turned, turned || !maps.Equal(before, s.confirmed)
}

// untilOutdated returns a channel that is closed when the informer must list queues again.
func (s *queueSchema) untilOutdated() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated
}

// HidesDRA returns an error if the API server may hide spec.dra of a queue that the informer shows. Then any write of the queue may drop the field, and if
// the informer shows none, the quota of the queue is unknown.
func (c *Cache) HidesDRA(queue *schedulingv1beta1.Queue) error {
	s := c.queueSchema
	s.mu.Lock()
	defer s.mu.Unlock()
	if queue.Spec.DRA != nil {
		delete(s.confirmed, queue.UID) // it may be hidden later
	}
	switch {
	case s.lacks:
		return errNoDRA
	case queue.Spec.DRA == nil && !s.confirmed[queue.UID] && c.clients.ServesDRA != nil:
		return errUnconfirmed
	default:
		return nil
	}
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

// ConfirmQuotas asks the API server about queues that the informer shows without spec.dra. Until it has an answer, they grant nothing more. A queue may be
// shown without the field after the CRD has changed, and before this is known.
func (c *Cache) ConfirmQuotas(ctx context.Context) {
	queues, err := c.queues.List(labels.Everything())
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	unconfirmed := func(queue *schedulingv1beta1.Queue) bool { return c.HidesDRA(queue) == errUnconfirmed }
	if err == nil && slices.ContainsFunc(queues, unconfirmed) {
		c.probeSchema(ctx)
	}
}

// probeSchema asks whether the API server serves spec.dra of queues, and which of them have none. Without an answer, the last one holds.
func (c *Cache) probeSchema(ctx context.Context) {
	if c.clients.ServesDRA == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queueschema.ProbePeriod)
	defer cancel()
	listed := &schedulingv1beta1.QueueList{}
	serves, err := c.clients.ServesDRA(ctx)
	if err == nil && serves {
		listed, err = c.clients.Queues.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		if ctx.Err() != context.Canceled {
			klog.ErrorS(err, "Failed to find out whether queues have spec.dra. New queues that show none grant nothing more")
		}
		return
	}
	turned, news := c.queueSchema.note(serves, listed.Items, slices.ContainsFunc(listed.Items, c.showsLess))
	switch {
	case turned && serves:
		klog.InfoS("The Queue CRD on Karmada's API server has the field spec.dra again")
	case turned:
		klog.ErrorS(errNoDRA, "Queues that show no spec.dra grant nothing more")
	}
	if news {
		c.change()
	}
}

// showsLess reports whether the informer shows no spec.dra of a queue that has one. For two minutes after a change of the CRD, it may be sent such queues.
func (c *Cache) showsLess(listed schedulingv1beta1.Queue) bool {
	shown, err := c.queues.Get(listed.Name)
	return err == nil && shown.UID == listed.UID && shown.Spec.DRA == nil && listed.Spec.DRA != nil
}
