// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// knownQueue is a queue with its limits.
type knownQueue struct {
	object *schedulingv1beta1.Queue
	limits framework.QueueLimits
}

// readQueues returns the limits of all queues, and forgets queues that are gone.
func (c *Counter) readQueues(queues []*schedulingv1beta1.Queue) map[string]framework.QueueLimits {
	limits, before := make(map[string]framework.QueueLimits, len(queues)), c.queues
	c.queues = make(map[string]*knownQueue, len(queues))
	for _, queue := range queues {
		k := before[queue.Name]
		if k == nil || k.object != queue {
			k = &knownQueue{object: queue, limits: c.limitsOf(queue)}
		}
		c.queues[queue.Name], limits[queue.Name] = k, k.limits
	}
	return limits
}

// limitsOf reads all quotas of a queue. It omits a quota that cannot be read, and reports it in the error.
func (c *Counter) limitsOf(queue *schedulingv1beta1.Queue) framework.QueueLimits {
	devices, devicesErr := quota.Devices(queue, c.counter.Dimensions)
	var cards [len(quota.CardAnnotations)]ledger.Amounts
	errs := []error{devicesErr}
	for i, annotation := range quota.CardAnnotations {
		var err error
		cards[i], err = quota.Cards(queue, annotation, c.counter.Dimensions)
		errs = append(errs, err)
	}
	_, listsCards := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]
	list := func(from corev1.ResourceList, devices, cards ledger.Amounts) ledger.Amounts {
		return c.counter.Resources.List(quota.Resources(from), slices.Concat(devices, cards))
	}
	return framework.QueueLimits{
		Capability: list(queue.Spec.Capability, devices.Capability, cards[0]),
		Deserved:   list(queue.Spec.Deserved, devices.Deserved, cards[1]),
		Guarantee:  list(queue.Spec.Guarantee.Resource, devices.Guarantee, cards[2]),
		ListsCards: listsCards,
		Err:        errors.Join(errs...),
	}
}

// relist updates the dimensions that quotas list, and reports whether they have changed.
func (c *Counter) relist() bool {
	listed := make([]bool, c.counter.Dimensions.Len())
	for _, k := range c.queues {
		for _, amounts := range []ledger.Amounts{k.limits.Capability, k.limits.Deserved, k.limits.Guarantee} {
			for _, e := range amounts {
				listed[e.Dimension] = true
			}
		}
	}
	if slices.Equal(listed, c.listed) {
		return false
	}
	cards := map[string]bool{}
	for o, is := range listed {
		if d := c.counter.Dimensions.Dimension(ledger.Ordinal(o)); is && d.Kind == ledger.Card {
			cards[d.Name] = true
		}
	}
	c.listed, c.cards = listed, slices.Sorted(maps.Keys(cards))
	return true
}

// lists reports whether a quota of some queue lists a dimension.
func (c *Counter) lists(o ledger.Ordinal) bool { return int(o) < len(c.listed) && c.listed[o] }
