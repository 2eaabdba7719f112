// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// QuotaExceeded refuses a request that exceeds the quota of a queue or an ancestor.
type QuotaExceeded struct {
	refusals.Quota
	// AskedFor are the classes that the pod asks for, if the refused dimension is of another class that the picked devices match.
	AskedFor []string
	// OtherCards lists the other cards that the pod accepts, if the quota allows none of them.
	OtherCards []string
}

// Message implements Refusal.
func (q QuotaExceeded) Message() string {
	message := q.Quota.Message()
	if len(q.AskedFor) > 0 {
		message += fmt.Sprintf("; the pod asks for devices of %s, and a device counts for every limited class that it matches", refusals.List(q.AskedFor))
	}
	if len(q.OtherCards) > 0 {
		message += "; nor is there quota for another card that the pod may get: " + refusals.List(q.OtherCards)
	}
	return message
}

// NoNodeForOtherCards refuses a pod that may choose among cards: the quota forbids some of them, and no node can take
// the pod with the others.
type NoNodeForOtherCards struct {
	QuotaExceeded
	// Others lists the cards that the quota allows.
	Others []string
	// Nodes is Volcano's summary of why no node is suitable.
	Nodes string
}

// Message implements Refusal. The summary repeats the refusal of the quota for each node with the card: this part is shortened.
func (n NoNodeForOtherCards) Message() string {
	nodes := strings.ReplaceAll(n.Nodes, n.Refusal.String(), fmt.Sprintf("no quota for <%s>", n.Dimension))
	return fmt.Sprintf("%s; there is quota for %s, but no node for the pod: %s", n.QuotaExceeded.Message(), refusals.List(n.Others), nodes)
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
