// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// enqueueable refuses a workload whose minimum does not fit. The refusal is about everything that it needs, which tells more.
func (p *plugin) enqueueable(w *framework.Workload) *framework.Refusal {
	if p.refuse(w, w.Needs.Minimum) == nil {
		return nil
	}
	return p.refuse(w, w.Needs.All)
}

// allocatable refuses a workload that does not fit as a whole. If it has a grant, only the growth must fit.
func (p *plugin) allocatable(w *framework.Workload) *framework.Refusal {
	return p.refuse(w, w.Needs.All)
}

// refuse says why amounts of a workload do not fit. It returns nil if they do.
func (p *plugin) refuse(w *framework.Workload, amounts ledger.Amounts) *framework.Refusal {
	if w.Err != nil {
		return &framework.Refusal{Reason: report.CannotCountReason, Message: w.Err.Error()}
	}
	queue := p.queue(w.Queue)
	if queue.refusal != nil {
		return queue.refusal
	}
	if refusal := p.refuseUnlisted(w, queue.id); refusal != nil {
		return refusal
	}
	if refusal := p.refuseUnnamed(w, queue.id); refusal != nil {
		return refusal
	}
	return p.refuseQuota(w, queue.id, amounts)
}

// refuseUnlisted refuses cards that no queue lists if a queue on the path restricts cards.
func (p *plugin) refuseUnlisted(w *framework.Workload, queue ledger.QueueID) *framework.Refusal {
	if len(w.Needs.Unlisted) == 0 || !p.books.ListsCards(queue) {
		return nil
	}
	card := w.Needs.Unlisted[0]
	return p.explain(queue, &ledger.Refusal{
		Queue: p.books.Name(queue), Dimension: card.Dimension, Requested: card.Amount, WouldBe: card.Amount,
	}, true)
}

// refuseUnnamed refuses devices that state no amount of a capacity that a queue on the path to the root limits.
func (p *plugin) refuseUnnamed(w *framework.Workload, queue ledger.QueueID) *framework.Refusal {
	for _, o := range w.Needs.Unnamed {
		lister, _, listed := p.books.Nearest(queue, o)
		if !listed {
			continue
		}
		d := p.books.Dimension(o)
		return &framework.Refusal{Reason: report.CannotCountReason, Message: fmt.Sprintf(
			"Queue <%s> limits capacity %s of DeviceClass %s, and a claim of the workload asks for devices of the class without saying how much of it: write capacity.requests[%s] into its request",
			p.books.Name(lister), d.Capacity, d.Name, d.Capacity)}
	}
	return nil
}

func (p *plugin) refuseQuota(w *framework.Workload, queue ledger.QueueID, amounts ledger.Amounts) *framework.Refusal {
	refused, err := p.books.FitsInqueue(queue, p.limited(w, p.books.asks(w, queue, amounts)))
	if err == nil && refused == nil {
		return nil
	}
	never, errAlone := p.books.empty().FitsInqueue(queue, p.limited(w, amounts))
	switch {
	case never != nil:
		return p.explain(queue, never, true)
	case refused != nil:
		return p.explain(queue, refused, false)
	default:
		return &framework.Refusal{Reason: report.CannotCountReason, Message: err.Error(), Never: errAlone != nil}
	}
}

// limited returns the amounts that are subject to limits.
func (p *plugin) limited(w *framework.Workload, amounts ledger.Amounts) ledger.Amounts {
	if !p.cardUnlimitedCPUMemory || !slices.ContainsFunc(w.Needs.All, p.isDevice) && len(w.Needs.Unlisted) == 0 {
		return amounts
	}
	return slices.DeleteFunc(slices.Clone(amounts), func(e ledger.Entry) bool {
		d := p.books.Dimension(e.Dimension)
		return d.Kind == ledger.Resource && (d.Name == "cpu" || d.Name == "memory")
	})
}

func (p *plugin) isDevice(e ledger.Entry) bool {
	return p.books.Dimension(e.Dimension).Kind != ledger.Resource && e.Amount.Sign() > 0
}

// refusalKey identifies the text of a refusal.
type refusalKey struct {
	ledger.Refusal
	queue ledger.QueueID
	never bool
}

// explain turns a refusal of the ledger into text, the same as the scheduler's.
func (p *plugin) explain(queue ledger.QueueID, refused *ledger.Refusal, never bool) *framework.Refusal {
	key := refusalKey{*refused, queue, never}
	key.Committed = nil // it adds nothing, because nothing is enqueued before it is granted
	if known := p.refused[key]; known != nil {
		return known
	}
	words := refusals.Quota{
		Refusal:       &key.Refusal,
		NoCardQuota:   refused.Dimension.Kind == ledger.Card && !slices.ContainsFunc(p.books.Path(queue), p.hasCardQuota),
		NoDeviceQuota: p.noDeviceQuota(queue, refused.Dimension),
	}
	result := &framework.Refusal{Reason: words.Reason(), Message: words.Message(), Never: never}
	if never {
		result.Message = strings.TrimSuffix(result.Message, ledger.NeverFits) + ledger.NeverFits // the ledger says so of most
	} else {
		result.Scope, result.Passable = framework.Scope{Queue: refused.Queue, Dimension: refused.Dimension}, !p.strictOrder
	}
	p.refused[key] = result
	return result
}

func (p *plugin) hasCardQuota(queue string) bool { return p.session.Limits[queue].ListsCards }

// noDeviceQuota reports whether a device quota is required and no queue on the path to the root lists the device class.
func (p *plugin) noDeviceQuota(queue ledger.QueueID, d ledger.Dimension) bool {
	return p.deviceQuotaRequired && d.Kind == ledger.DeviceCount && !p.books.ListsClass(queue, d.Name)
}
