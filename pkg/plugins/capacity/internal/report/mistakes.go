// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reasons of the events on queues whose quota is valid, and surely not what somebody meant.
const (
	ClassInCapabilityReason  = "ClassInCapability"
	UnknownDeviceClassReason = "UnknownDeviceClass"
	UnknownCardReason        = "UnknownCard"
	UnknownAnnotationReason  = "UnknownAnnotation"
	LimitAboveParentReason   = "LimitAboveParent"
)

// ClassesInCapability adds that a queue lists DeviceClasses among its resources.
func (ps Problems) ClassesInCapability(queue string, classes []string) {
	ps.add(queue, ClassInCapabilityReason, fmt.Sprintf(
		"The queue limits %s among its resources, where names of DeviceClasses limit nothing: list them in spec.dra", names(classes)))
}

// UnknownDeviceClasses adds that spec.dra of a queue lists classes that do not exist.
func (ps Problems) UnknownDeviceClasses(queue string, classes []string) {
	ps.add(queue, UnknownDeviceClassReason, fmt.Sprintf(
		"The queue's spec.dra lists %s, but there is no such DeviceClass: correct the name, or create the DeviceClass", names(classes)))
}

// UnknownCards adds that the card quota of a queue lists cards that nothing in the cluster is.
func (ps Problems) UnknownCards(queue string, cards []string) {
	ps.add(queue, UnknownCardReason, fmt.Sprintf(
		"The queue's annotation %s lists %s, but no node has such a card, and no DeviceClass names it: correct the name, or add nodes",
		schedulingv1beta1.CardQuotaAnnotation, names(cards)))
}

// UnknownAnnotation adds that an annotation of a queue is not read, because its name is not quite the one that is meant.
func (ps Problems) UnknownAnnotation(queue, key, meant string) {
	ps.add(queue, UnknownAnnotationReason, fmt.Sprintf("The queue's annotation %s has no effect: rename it to %s if that is meant", key, meant))
}

// LimitAboveParent adds that a capability of a queue exceeds that of a queue further up. Only the first one is reported.
func (ps Problems) LimitAboveParent(queue, above string, limit ledger.AboveParent) {
	if ps[Problem{Queue: queue, Reason: LimitAboveParentReason}] != "" {
		return
	}
	ps.add(queue, LimitAboveParentReason, fmt.Sprintf(
		"The queue's capability of %s is <%s>, but that of queue <%s> above it is <%s>, which holds: lower the one, or raise the other",
		limit.Dimension, limit.Dimension.Format(limit.Capability), above, limit.Dimension.Format(limit.Limit)))
}

// names lists names in brackets, in alphabetical order.
func names(all []string) string {
	all = slices.Sorted(slices.Values(all))
	for i := range all {
		all[i] = "<" + all[i] + ">"
	}
	return list(all)
}
