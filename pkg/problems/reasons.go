// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/dra"
)

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

// Contested returns a message about a DeviceClass that does not offer the extended resource that it names.
func Contested(c *dra.Contested) string {
	return fmt.Sprintf("The %s: pods that request %s get devices of DeviceClass %s: remove spec.extendedResourceName from one of the classes, or change it", c, c.Resource, c.Winner.Name)
}

// CardsOfNode returns a message about problems with the cards of a node. It is empty without problems.
func CardsOfNode(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return "The node's cards cannot be counted: " + strings.Join(problems, "; ")
}
