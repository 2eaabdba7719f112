// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// checkHardware finds quotas of devices and cards that are more than what there is. That of resources is compared by the ledger.
func (w *world) checkHardware() {
	there := w.hardware()
	for _, name := range slices.Sorted(maps.Keys(w.queues)) {
		queue := w.queues[name]
		for _, list := range []struct {
			what           string
			devices, cards ledger.Amounts
		}{
			{"guarantee", queue.Devices.Guarantee, queue.Cards.Guarantee},
			{"deserved", queue.Devices.Deserved, queue.Cards.Deserved},
			{"capability", queue.Devices.Capability, queue.Cards.Capability},
		} {
			for _, e := range slices.Concat(list.devices, list.cards) {
				exists, known := there[e.Dimension]
				if !known || e.Amount.Cmp(exists) <= 0 {
					continue
				}
				d := w.counter.Dimensions.Dimension(e.Dimension)
				w.add(QuotaAboveHardware, Ref{Kind: Queues, Name: name}, fieldOfLimit(list.what, d),
					fmt.Sprintf("The queue's %s of %s is <%s>, but the cluster has only <%s>: lower it, or add nodes", list.what, d, d.Format(e.Amount), d.Format(exists)))
			}
		}
	}
}

// hardware is what there is in each dimension of devices and cards that is known.
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

// fieldOfLimit is where a queue lists a limit. It is empty for a kind that queues list nowhere.
func fieldOfLimit(list string, d ledger.Dimension) Path {
	switch d.Kind {
	case ledger.Card:
		return Path{"metadata", "annotations", map[string]string{"guarantee": "volcano.sh/card.guarantee", "deserved": "volcano.sh/card.deserved", "capability": "volcano.sh/card.quota"}[list]}
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
