// SPDX-License-Identifier: Apache-2.0

package refusals

import (
	"fmt"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ListClass says what to do where a device quota is required.
const ListClass = "no queue on the way to the root lists the class, which deviceQuotaRequired demands: list it in spec.dra.capability of the queue or of a queue above it"

// Quota refuses a demand that the quota of a queue or an ancestor does not allow.
type Quota struct {
	*ledger.Refusal
	// NoCardQuota says that neither the queue nor an ancestor has a card quota.
	NoCardQuota bool
	// NoDeviceQuota says that a required device quota is missing: neither the queue nor an ancestor lists the device class.
	NoDeviceQuota bool
}

// Reason is the reason of the event.
func (q Quota) Reason() string {
	switch d := q.Dimension; {
	case d.Kind == ledger.Resource && d.Name == "cpu":
		return InsufficientCPUQuotaReason
	case d.Kind == ledger.Resource && d.Name == "memory":
		return InsufficientMemoryQuotaReason
	case q.emptyCapability():
		return EmptyQueueCapabilityReason
	default:
		return InsufficientScalarQuotaReason
	}
}

func (q Quota) emptyCapability() bool {
	return q.Dimension.Kind == ledger.Card && q.NoCardQuota || q.NoDeviceQuota
}

// Message is the sentence for users.
func (q Quota) Message() string {
	switch message := q.String(); {
	case q.NoDeviceQuota:
		return message + "; " + ListClass
	case q.emptyCapability():
		return message + "; the queue has no card quota: list the card in its annotation " + schedulingv1beta1.CardQuotaAnnotation
	default:
		return message
	}
}

// Uncountable returns the sentence for a pod or a job with a demand that cannot be counted.
func Uncountable(err error) string {
	return "The demand cannot be counted against the quota of the queue: " + err.Error()
}

// ResourceUnknown returns the sentence for a pod or a job that requests an unknown resource. No node offers the resource, and
// no quota lists it. queue is the topmost queue.
func ResourceUnknown(queue, resource string, amount ledger.Amount) string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>, but capability is <0>: no node offers it, correct the name or add nodes",
		queue, resource, amount, amount)
}
