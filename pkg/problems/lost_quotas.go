// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// QuotaFieldMissing adds that spec.dra of a queue is missing because the CRD lacks the field.
func (ps Problems) QuotaFieldMissing(queue string) {
	ps.add(queue, QuotaFieldMissingReason, "The Queue CRD in the cluster has no field spec.dra, so that the queue's quota of devices cannot be read: apply config/crd/scheduling.volcano.sh_queues.yaml again; until then, its last valid quota holds")
}

// QuotaLost adds that a queue has no spec.dra, although the scheduler's annotation has one. Whoever reads only objects cannot tell whether the CRD
// lacks the field.
func (ps Problems) QuotaLost(queue string) {
	ps.add(queue, QuotaFieldMissingReason, fmt.Sprintf("The queue has no spec.dra, and the annotation %s has one: unless it was removed just now, the Queue CRD in the "+
		"cluster has lost the field: apply config/crd/scheduling.volcano.sh_queues.yaml again; until then, the last valid quota holds", schedulingv1beta1.LastValidQuotaAnnotation))
}

// QuotaBeingRestored adds that spec.dra of a queue was lost, and that the CRD has the field again.
func (ps Problems) QuotaBeingRestored(queue string) {
	ps.add(queue, QuotaFieldMissingReason, "The queue's spec.dra is missing because the Queue CRD in the cluster did not have the field for a time: the scheduler restores it; until then, its last valid quota holds")
}

// QuotaRemovalUnclear adds that spec.dra of a queue was removed or lost, and that the cause is unknown.
func (ps Problems) QuotaRemovalUnclear(queue string) {
	ps.add(queue, QuotaRemovalUnconfirmedReason, fmt.Sprintf(
		"The queue's spec.dra was removed or lost while no scheduler ran, and its last valid quota holds: set spec.dra or, if the queue should have no quota of devices, delete the annotation %s",
		schedulingv1beta1.LastValidQuotaAnnotation))
}

// QuotaRemovalUnconfirmed adds that spec.dra of a queue is missing, and that an error prevents the scheduler from finding the cause.
func (ps Problems) QuotaRemovalUnconfirmed(queue string, err error) {
	ps.add(queue, QuotaRemovalUnconfirmedReason, fmt.Sprintf(
		"The queue's spec.dra is missing, and its last valid quota holds until the API server confirms that it was removed on purpose: %v: check that the scheduler may create queues", err))
}

// QuotaNotSaved adds that a quota cannot be written to the queue: the last valid one to the annotation, or a lost one to the spec.
func (ps Problems) QuotaNotSaved(queue string, err error) {
	ps.add(queue, QuotaNotSavedReason, fmt.Sprintf(
		"The scheduler cannot write the last valid quota to the queue, so that it may be lost when the scheduler restarts: %v: check that the scheduler may patch queues, see config/rbac/scheduler.yaml", err))
}
