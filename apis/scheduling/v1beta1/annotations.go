// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Annotations about cards that users write.
const (
	// CardQuotaAnnotation on a Queue is the maximum number of cards of each name that the queue may use. It is a JSON
	// object of card names and whole numbers, such as {"NVIDIA-H200": 8}, as the next two are, which make cards elastic.
	CardQuotaAnnotation = "volcano.sh/card.quota"
	// CardDeservedAnnotation on a Queue is the number of cards of each name up to which the queue may take back what others have borrowed.
	CardDeservedAnnotation = "volcano.sh/card.deserved"
	// CardGuaranteeAnnotation on a Queue is the number of cards of each name that is kept free for the queue, used or not.
	CardGuaranteeAnnotation = "volcano.sh/card.guarantee"
)

// Annotations that the scheduler writes to queues.
const (
	// DeviceUsageAnnotation is what `kubectl get queue` shows of devices. For each DeviceClass it has what is in use, the limit, and
	// what pods and jobs wait for: "nvidia-h100 6/8 (2 waiting)".
	DeviceUsageAnnotation = "volcano.sh/device.usage"
	// CardUsageAnnotation is the same of cards.
	CardUsageAnnotation = "volcano.sh/card.usage"
	// LastValidQuotaAnnotation has the last valid quotas of devices and cards, as JSON. If spec.dra is lost, because the Queue CRD in
	// the cluster does not have the field for a time, or the card quota becomes invalid, these quotas hold, also after a restart of
	// the scheduler.
	LastValidQuotaAnnotation = "volcano.sh/last-valid-quota"
)
