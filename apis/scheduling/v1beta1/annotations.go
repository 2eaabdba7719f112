// SPDX-License-Identifier: Apache-2.0

package v1beta1

// CardQuotaAnnotation on a Queue is the maximum number of cards of each name that the queue may use: a JSON
// object of card names and whole numbers, such as {"NVIDIA-H200": 8}.
const CardQuotaAnnotation = "volcano.sh/card.quota"

// Annotations on a Queue that make cards elastic. They have the same form as CardQuotaAnnotation.
const (
	// CardDeservedAnnotation is the number of cards of each name up to which the queue may take back what others have borrowed.
	CardDeservedAnnotation = "volcano.sh/card.deserved"
	// CardGuaranteeAnnotation is the number of cards of each name that is kept free for the queue, used or not.
	CardGuaranteeAnnotation = "volcano.sh/card.guarantee"
)

// Annotations on a Queue that the scheduler writes, for people who run `kubectl get queue`. For each DeviceClass or card,
// they have what is in use, the limit, and what pods and jobs wait for: "nvidia-h100 6/8 (2 waiting)".
const (
	DeviceUsageAnnotation = "volcano.sh/device.usage"
	CardUsageAnnotation   = "volcano.sh/card.usage"
)

// LastValidQuotaAnnotation on a Queue has the last valid quotas of devices and cards, as JSON. The scheduler writes it. If
// spec.dra is lost, because the Queue CRD in the cluster does not have the field for a time, or the card quota becomes invalid,
// these quotas hold, also after a restart of the scheduler.
const LastValidQuotaAnnotation = "volcano.sh/last-valid-quota"
