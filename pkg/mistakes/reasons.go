// SPDX-License-Identifier: Apache-2.0

package mistakes

// Reasons of events on other objects than queues.
const (
	// ExtendedResourceContestedReason is the reason of the event on a DeviceClass whose extended resource another class offers.
	ExtendedResourceContestedReason = "ExtendedResourceContested"
	// CardsNotReadReason is the reason of events on nodes whose card labels are invalid.
	CardsNotReadReason = "CardsNotRead"
)

// QueueReasons are the reasons of all problems of queues.
var QueueReasons = []string{
	QueueMisplacedReason, QueueNotLeafReason, GuaranteeNotCoveredReason, QuotaNotReadReason,
	ClassInCapabilityReason, UnknownDeviceClassReason, UnknownCardReason, UnknownAnnotationReason, LimitAboveParentReason,
	CardNotListedReason, ContradictoryCardsReason, ContradictoryDevicesReason,
	ClassesOverlapReason, InvalidDeviceClassReason,
	QuotaFieldMissingReason, QuotaRemovalUnconfirmedReason, QuotaNotSavedReason,
	ReclaimNotConfiguredReason, ReclaimIgnoresDeservedReason, CannotReclaimReason,
}
