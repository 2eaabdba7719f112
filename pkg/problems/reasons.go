// SPDX-License-Identifier: Apache-2.0

package problems

// Reasons of events on other objects than queues.
const (
	// ExtendedResourceContestedReason says that another class offers the extended resource of a DeviceClass.
	ExtendedResourceContestedReason = "ExtendedResourceContested"
	// CardsNotReadReason says that labels of a node that describe its cards are invalid.
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
