// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// checkHardware finds quotas of devices and cards above the hardware. The ledger compares the quotas of resources.
func (w *world) checkHardware() {
	there := w.hardware()
	for limit := range w.limits {
		exists, known := there[limit.Dimension]
		if !known || limit.Amount.Cmp(exists) <= 0 {
			continue
		}
		d := w.counter.Dimensions.Dimension(limit.Dimension)
		w.add(QuotaAboveHardware, Ref{Kind: Queues, Name: limit.queue}, fieldOfLimit(limit.list, d),
			fmt.Sprintf("The queue's %s of %s is <%s>, but the cluster has only <%s>: lower it, or add nodes", limit.list, d, d.Format(limit.Amount), d.Format(exists)))
	}
}

// lists are the names of the limits of queues, in the order of quota.CardAnnotations.
var lists = [...]string{"capability", "deserved", "guarantee"}

// limit is the limit of one dimension in a list of a queue.
type limit struct {
	queue, list string
	ledger.Entry
}

// limits calls yield for each limit of devices or cards in a queue, in the order of queue names.
func (w *world) limits(yield func(limit) bool) {
	for _, name := range slices.Sorted(maps.Keys(w.queues)) {
		devices, cards := &w.queues[name].Devices, &w.queues[name].Cards
		for i, list := range [][]ledger.Entry{
			slices.Concat(devices.Capability, cards.Capability), slices.Concat(devices.Deserved, cards.Deserved), slices.Concat(devices.Guarantee, cards.Guarantee),
		} {
			for _, e := range list {
				if !yield(limit{name, lists[i], e}) {
					return
				}
			}
		}
	}
}

// hardware returns the existing amounts of devices and cards in each known dimension.
func (w *world) hardware() map[ledger.Ordinal]ledger.Amount {
	there := map[ledger.Ordinal]ledger.Amount{}
	counts := w.devicesOfClasses()
	cards := map[string]ledger.Amount{}
	if w.Known[Nodes] {
		for name, total := range w.fleet.Totals {
			if total.IsInt64() {
				cards[name] = ledger.Units(total.Int64())
			}
		}
	}
	for o := range ledger.Ordinal(w.counter.Dimensions.Len()) {
		d := w.counter.Dimensions.Dimension(o)
		_, isClass := w.catalog.Class(d.Name)
		switch {
		case d.Kind == ledger.DeviceCount && counts != nil && isClass && counts[d.Name] > 0:
			there[o] = ledger.Units(counts[d.Name])
		case d.Kind == ledger.Card && w.fleet.Known(d.Name) && !w.catalog.HasCard(d.Name):
			if total, known := cards[d.Name]; known {
				there[o] = total
			}
		}
	}
	return there
}

// fieldOfLimit returns the place of a limit in a queue. It is empty for a kind that queues do not list.
func fieldOfLimit(list string, d ledger.Dimension) Path {
	switch d.Kind {
	case ledger.Card:
		return Path{"metadata", "annotations", quota.CardAnnotations[slices.Index(lists[:], list)]}
	case ledger.DeviceCount:
		return Path{"spec", "dra", list, d.Name, "count"}
	case ledger.DeviceCapacity:
		return Path{"spec", "dra", list, d.Name, "capacity", d.Capacity}
	case ledger.Resource:
		return Path{"spec", list, d.Name}
	default:
		return nil
	}
}
