// SPDX-License-Identifier: Apache-2.0

package v1beta1

// CardQuotaAnnotation on a Queue is the maximum number of cards of each name that the queue may use: a JSON
// object of card names and whole numbers, such as {"NVIDIA-H200": 8}.
const CardQuotaAnnotation = "volcano.sh/card.quota"

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
