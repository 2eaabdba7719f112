// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Reasons of events on queues with a valid quota that is surely not meant.
const (
	// ClassInCapabilityReason says that a queue lists a DeviceClass among its resources, where it limits nothing.
	ClassInCapabilityReason = "ClassInCapability"
	// UnknownDeviceClassReason says that a quota lists a DeviceClass that does not exist.
	UnknownDeviceClassReason = "UnknownDeviceClass"
	// UnknownCardReason says that a quota lists a card that no node has.
	UnknownCardReason = "UnknownCard"
	// UnknownAnnotationReason says that an annotation has nearly the name of one that the scheduler reads.
	UnknownAnnotationReason = "UnknownAnnotation"
	// LimitAboveParentReason says that a capability is above that of a queue further up, which holds.
	LimitAboveParentReason = "LimitAboveParent"
	// CardNotListedReason says that a queue is owed a card that its pods must not use.
	CardNotListedReason = "CardNotListed"
	// ContradictoryCardsReason says that the annotations for cards contradict each other.
	ContradictoryCardsReason = "ContradictoryCards"
	// ContradictoryDevicesReason says that numbers of devices contradict each other.
	ContradictoryDevicesReason = "ContradictoryDevices"
)

// ClassesInCapability adds that a queue lists DeviceClasses among its resources.
func (ps Problems) ClassesInCapability(queue string, classes []string) {
	ps.add(queue, ClassInCapabilityReason, fmt.Sprintf(
		"The queue limits %s among its resources, where names of DeviceClasses limit nothing: list them in spec.dra", names(classes)))
}

// UnknownDeviceClasses adds that the quota of a queue lists classes that do not exist.
func (ps Problems) UnknownDeviceClasses(queue string, classes []string) {
	ps.add(queue, UnknownDeviceClassReason, fmt.Sprintf(
		"The queue's quota lists %s, but there is no such DeviceClass: correct the name, or create the DeviceClass", names(classes)))
}

// UnknownCards adds that an annotation of a queue lists cards that do not exist in the cluster.
func (ps Problems) UnknownCards(queue, annotation string, cards []string) {
	ps.add(queue, UnknownCardReason, fmt.Sprintf(
		"The queue's annotation %s lists %s, but no node has such a card, and no DeviceClass names it: correct the name, or add nodes",
		annotation, names(cards)))
}

// CardsNotListed adds that an annotation of a queue promises cards that its pods must not use. The card quota of the lister, which is the queue or
// an ancestor, does not list these cards. The lister is empty if a card quota is required and neither the queue nor an ancestor has one.
func (ps Problems) CardsNotListed(queue, lister, annotation string, cards []string) {
	but := fmt.Sprintf("the card quota of queue <%s> above it does not, so that its pods may not use them: list them there, too", lister)
	switch lister {
	case queue:
		but = fmt.Sprintf("its annotation %s does not, so that its pods may not use them: list them there, too", schedulingv1beta1.CardQuotaAnnotation)
	case "":
		but = fmt.Sprintf("a card quota is required, so that its pods may not use them: list them in the annotation %s, too", schedulingv1beta1.CardQuotaAnnotation)
	}
	ps.add(queue, CardNotListedReason, fmt.Sprintf("The queue's annotation %s lists %s, but %s, or remove them", annotation, names(cards), but))
}

// ContradictoryCards adds that an annotation of a queue has more cards than another annotation of the queue allows.
func (ps Problems) ContradictoryCards(queue string, card ledger.Dimension, c quota.Contradiction) {
	ps.add(queue, ContradictoryCardsReason, fmt.Sprintf(
		"The queue's annotation %s has <%s> of <%s>, but its annotation %s has <%s>: lower the one, or raise the other",
		c.More, card.Format(c.Number), card, c.Bound, card.Format(c.Limit)))
}

// DevicesListedTwice adds that a queue lists the same devices twice, with different numbers.
func (ps Problems) DevicesListedTwice(queue string, twice *quota.ListedTwice) {
	ps.add(queue, ContradictoryDevicesReason, fmt.Sprintf(
		"The queue's %s is <%s>, but its %s is <%s>, which limits the same devices of class <%s>: the smaller number holds; remove one of them, or make them equal",
		twice.Field, twice.Dimension.Format(twice.Number), twice.Other, twice.OtherDimension.Format(twice.OtherNumber), twice.Dimension.Name))
}

// ContradictoryDevices adds that a queue deserves or is guaranteed more devices than another limit of the queue allows.
func (ps Problems) ContradictoryDevices(queue string, of ledger.Dimension, c quota.Contradiction) {
	ps.add(queue, ContradictoryDevicesReason, fmt.Sprintf(
		"The queue's %s of <%s> is <%s>, but its %s is <%s>: lower the one, or raise the other", c.More, of, of.Format(c.Number), c.Bound, of.Format(c.Limit)))
}

// UnknownAnnotation adds that an annotation of a queue is not read, because its name is only similar to a known one.
func (ps Problems) UnknownAnnotation(queue, key, meant string) {
	ps.add(queue, UnknownAnnotationReason, fmt.Sprintf("The queue's annotation %s has no effect: rename it to %s if that is meant", key, meant))
}

// LimitAboveParent adds that a capability of a queue exceeds the capability of an ancestor. It adds only the first one.
func (ps Problems) LimitAboveParent(queue, above string, limit ledger.AboveParent) {
	if ps[Problem{Queue: queue, Reason: LimitAboveParentReason}] != "" {
		return
	}
	ps.add(queue, LimitAboveParentReason, fmt.Sprintf(
		"The queue's capability of %s is <%s>, but that of queue <%s> above it is <%s>, which holds: lower the one, or raise the other",
		limit.Dimension, limit.Dimension.Format(limit.Capability), above, limit.Dimension.Format(limit.Limit)))
}

// names returns names in angle brackets, in alphabetical order.
func names(all []string) string {
	all = slices.Sorted(slices.Values(all))
	for i := range all {
		all[i] = "<" + all[i] + ">"
	}
	return refusals.List(all)
}
