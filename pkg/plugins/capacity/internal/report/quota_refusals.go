// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// QuotaExceeded refuses a request that exceeds the quota of a queue or an ancestor.
type QuotaExceeded struct {
	*ledger.Refusal
	// NoCardQuota says that neither the queue nor an ancestor has a card quota.
	NoCardQuota bool
	// NoDeviceQuota says that a listed class is required, but neither the queue nor an ancestor lists the class of the devices.
	NoDeviceQuota bool
	// AskedFor are the classes that the pod asks for, if the refused dimension is of another class that the picked devices match.
	AskedFor []string
	// OtherCards lists the other cards that the pod accepts, if the quota allows none of them.
	OtherCards []string
}

// quota returns the part of the refusal that is the same for all requests.
func (q QuotaExceeded) quota() refusals.Quota {
	return refusals.Quota{Refusal: q.Refusal, NoCardQuota: q.NoCardQuota, NoDeviceQuota: q.NoDeviceQuota}
}

// Reason implements Refusal.
func (q QuotaExceeded) Reason() string { return q.quota().Reason() }

// Message implements Refusal.
func (q QuotaExceeded) Message() string {
	message := q.quota().Message()
	if len(q.AskedFor) > 0 {
		message += fmt.Sprintf("; the pod asks for devices of %s, and a device counts for every limited class that it matches", refusals.List(q.AskedFor))
	}
	if len(q.OtherCards) > 0 {
		message += "; nor is there quota for another card that the pod may get: " + refusals.List(q.OtherCards)
	}
	return message
}

// DevicesUnlisted refuses devices if a listed class is required, but no queue on the way to the root lists one of theirs.
type DevicesUnlisted struct{ Queue, Class string }

// Reason implements Refusal.
func (DevicesUnlisted) Reason() string { return refusals.EmptyQueueCapabilityReason }

// Message implements Refusal.
func (d DevicesUnlisted) Message() string {
	return fmt.Sprintf("Queue <%s> has no quota for devices of class <%s>, nor for another class that such a device matches: %s", d.Queue, d.Class, refusals.ListClass)
}

// ResourceUnknown refuses a pod or job that requests a resource that no node offers and no queue's quota lists.
type ResourceUnknown struct {
	demand.UnknownResourceError
	Queue string
}

// Reason implements Refusal.
func (ResourceUnknown) Reason() string { return refusals.InsufficientScalarQuotaReason }

// Message implements Refusal.
func (r ResourceUnknown) Message() string {
	return refusals.ResourceUnknown(r.Queue, string(r.Resource), r.Amount)
}

// RefusedByQuota returns the refusal of the ledger that a refusal is based on, nil if there is none. Of several ways to get
// extended resources, the preferred one counts.
func RefusedByQuota(refusal Refusal) *ledger.Refusal {
	switch r := refusal.(type) {
	case QuotaExceeded:
		return r.Refusal
	case NoNodeForOtherCards:
		return r.QuotaExceeded.Refusal
	case ProtectedByGangs:
		return RefusedByQuota(r.Refusal)
	case EachWay:
		return RefusedByQuota(r.Refusals[0])
	default:
		return nil
	}
}
