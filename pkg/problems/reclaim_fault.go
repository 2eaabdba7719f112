// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Reasons of events on queues with a valid quota that is surely not meant.
const (
	// ReclaimNotConfiguredReason says that nothing is ever taken back for a queue that deserves something.
	ReclaimNotConfiguredReason = "ReclaimNotConfigured"
	// ReclaimIgnoresDeservedReason says that pods are evicted without regard to what queues deserve.
	ReclaimIgnoresDeservedReason = "ReclaimIgnoresDeserved"
)

// ReclaimFaultKind is a kind of mistake in the scheduler's configuration.
type ReclaimFaultKind uint8

const (
	// NoReclaimFault says that there is no such mistake.
	NoReclaimFault ReclaimFaultKind = iota
	// NoReclaimAction says that the action reclaim does not run.
	NoReclaimAction
	// NoStarvingJobs says that no plugin tells reclaim which jobs need more than they have.
	NoStarvingJobs
	// VictimsNotAsked says that this plugin is not asked which pods may be evicted.
	VictimsNotAsked
	// ReclaimersNotAsked says that this plugin is not asked which queues may reclaim.
	ReclaimersNotAsked
	// VictimsInOtherTier says that plugins of another tier name victims, too. Only one tier decides.
	VictimsInOtherTier
)

// ReclaimFault is a setting in the scheduler's configuration that keeps queues from getting what they deserve. The zero value means no
// fault.
type ReclaimFault struct {
	Kind ReclaimFaultKind
	// Plugin is the name of this plugin in the configuration.
	Plugin string
	// Others are the plugins of other tiers that name victims.
	Others string
}

// Concerns reports whether the fault keeps queues from getting what they deserve in dimensions of a kind. This plugin decides which queues
// may reclaim devices and cards, and all other plugins must agree, whatever their tier.
func (f ReclaimFault) Concerns(kind ledger.Kind) bool {
	switch f.Kind {
	case NoReclaimFault:
		return false
	case NoReclaimAction, VictimsNotAsked:
		return true
	default:
		return kind == ledger.Resource
	}
}

// upstreamOnly starts messages about faults that affect only pods that upstream's action decides about.
const upstreamOnly = "for pods that ask for neither devices nor cards, "

func (f ReclaimFault) reason() string {
	if f.Kind == NoReclaimAction || f.Kind == NoStarvingJobs {
		return ReclaimNotConfiguredReason
	}
	return ReclaimIgnoresDeservedReason
}

// String returns the effect of the fault, its place, and the remedy.
func (f ReclaimFault) String() string {
	switch f.Kind {
	case NoReclaimAction:
		return "nothing is taken back from other queues, because the scheduler's configuration does not have the action reclaim: add it to the actions"
	case NoStarvingJobs:
		return upstreamOnly + "nothing is taken back from other queues, because no plugin in the scheduler's configuration tells which jobs need more than they have: add the plugin gang, or set its enableJobStarving to true"
	case VictimsNotAsked:
		return fmt.Sprintf("reclaim does not go by what queues deserve, because enableReclaimable of the plugin %s is false in the scheduler's configuration: set it to true", f.Plugin)
	case ReclaimersNotAsked:
		return fmt.Sprintf(upstreamOnly+"queues may also reclaim more than they deserve, because enablePreemptive of the plugin %s is false in the scheduler's configuration: set it to true", f.Plugin)
	case VictimsInOtherTier:
		return fmt.Sprintf(upstreamOnly+"reclaim may evict pods without regard to what queues deserve, because the scheduler's configuration has %s in another tier than %s, and the first tier that names victims decides: put them into one tier",
			f.Others, f.Plugin)
	default:
		return ""
	}
}

// Deserved is the deserved amount of a queue in one dimension.
type Deserved struct {
	Dimension ledger.Dimension
	Amount    ledger.Amount
}

// ReclaimFault adds that the scheduler's configuration keeps a queue from getting what it deserves.
func (ps Problems) ReclaimFault(queue string, deserved []Deserved, fault ReclaimFault) {
	var parts []string
	for _, d := range deserved {
		parts = append(parts, fmt.Sprintf("<%s> of %s", d.Dimension.Format(d.Amount), d.Dimension))
	}
	slices.Sort(parts)
	ps.add(queue, fault.reason(), fmt.Sprintf("The queue deserves %s, but %s", refusals.List(parts), fault))
}
