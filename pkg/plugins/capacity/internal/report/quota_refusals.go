// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxListed bounds how many cards or holders of devices a message lists.
const maxListed = 5

// QuotaExceeded refuses what the quota of a queue, or of an ancestor, does not allow.
type QuotaExceeded struct {
	*ledger.Refusal
	// NoCardQuota says that neither the queue nor an ancestor has a card quota.
	NoCardQuota bool
	// NoDeviceQuota says that neither the queue nor an ancestor lists the class of the devices, which is required.
	NoDeviceQuota bool
	// AskedFor are the classes that the pod asks for, if the dimension is one of another class that the picked devices
	// match.
	AskedFor []string
	// OtherCards lists the other cards that the pod may get, none of which the quota allows.
	OtherCards []string
}

// Reason implements Refusal.
func (q QuotaExceeded) Reason() string {
	switch d := q.Dimension; {
	case d.Kind == ledger.Resource && d.Name == string(corev1.ResourceCPU):
		return InsufficientCPUQuotaReason
	case d.Kind == ledger.Resource && d.Name == string(corev1.ResourceMemory):
		return InsufficientMemoryQuotaReason
	case q.emptyCapability():
		return EmptyQueueCapabilityReason
	default:
		return InsufficientScalarQuotaReason
	}
}

func (q QuotaExceeded) emptyCapability() bool {
	return q.Dimension.Kind == ledger.Card && q.NoCardQuota || q.NoDeviceQuota
}

// Message implements Refusal.
func (q QuotaExceeded) Message() string {
	message := q.String()
	switch {
	case q.NoDeviceQuota:
		message += "; " + listClass
	case q.emptyCapability():
		message += "; the queue has no card quota: list the card in its annotation " + schedulingv1beta1.CardQuotaAnnotation
	}
	if len(q.AskedFor) > 0 {
		message += fmt.Sprintf("; the pod asks for devices of %s, and a device counts for every limited class that it matches", list(q.AskedFor))
	}
	if len(q.OtherCards) > 0 {
		message += "; nor is there quota for another card that the pod may get: " + list(q.OtherCards)
	}
	return message
}

// listClass says what to do where a device quota is required.
const listClass = "no queue on the way to the root lists the class, which deviceQuotaRequired demands: list it in spec.dra.capability of the queue or of a queue above it"

// DevicesUnlisted refuses devices that count for no class that a queue on the way to the root lists, which is
// required.
type DevicesUnlisted struct{ Queue, Class string }

// Reason implements Refusal.
func (DevicesUnlisted) Reason() string { return EmptyQueueCapabilityReason }

// Message implements Refusal.
func (d DevicesUnlisted) Message() string {
	return fmt.Sprintf("Queue <%s> has no quota for devices of class <%s>, nor for another class that such a device matches: %s", d.Queue, d.Class, listClass)
}

// list joins the first entries of a list and says how many more there are.
func list(entries []string) string {
	if more := len(entries) - maxListed; more > 0 {
		return strings.Join(entries[:maxListed], ", ") + fmt.Sprintf(", and %d more", more)
	}
	return strings.Join(entries, ", ")
}

// ResourceUnknown refuses a pod or job that requests a resource which no node offers and no queue's quota lists.
type ResourceUnknown struct {
	demand.UnknownResourceError
	Queue string
}

// Reason implements Refusal.
func (ResourceUnknown) Reason() string { return InsufficientScalarQuotaReason }

// Message implements Refusal.
func (r ResourceUnknown) Message() string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>, but capability is <0>: no node offers it, correct the name or add nodes",
		r.Queue, r.Resource, r.Amount, r.Amount)
}
