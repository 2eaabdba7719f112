// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// holding tells the account what a pod or claim holds.
func (o *observer) holding(h *snapshot.Holding) {
	for i := range h.Parts {
		part := &h.Parts[i]
		if !part.Pays || part.Promised || !o.recorded(part.Amounts) {
			continue
		}
		if h.Task == nil {
			o.claim(part, h.Claim.Labels, time.Time{})
		} else if since := heldSince(h.Task.Pod); since == nil {
			continue // the API server does not show the node of the pod yet
		} else if part.Claim != nil {
			o.claim(part, h.Task.Pod.Labels, since.Time)
		} else {
			o.pod(h.Task.Pod, part, since)
		}
	}
}

// recorded reports whether usage of any of the amounts is recorded.
func (o *observer) recorded(amounts ledger.Amounts) bool {
	return slices.ContainsFunc(amounts, func(e ledger.Entry) bool { return o.recorder.records(o.snapshot.Dimensions.Dimension(e.Dimension)) })
}

// pod tells what a pod holds in addition to its claims.
func (o *observer) pod(pod *corev1.Pod, part *snapshot.HeldPart, since *metav1.Time) {
	key := accounting.Key(pod.UID)
	if o.snapshot.Dimensions.Dimension(part.Amounts[0].Dimension).Kind == ledger.Resource {
		key = resourcesOf(pod)
	}
	o.tell(accounting.Holding{Key: key, Namespace: pod.Namespace, Pod: pod.Name, Since: since.Time}, part, pod.Labels)
}

// claim tells what a claim holds. Without an allocation time, it holds its devices since the pod with it got its node.
func (o *observer) claim(part *snapshot.HeldPart, labels map[string]string, since time.Time) {
	claim := part.Claim.Object
	o.tell(accounting.Holding{Key: keyOf(claim), Namespace: claim.Namespace, Since: cmp.Or(allocatedSince(claim), since)}, part, labels)
}

func (o *observer) tell(h accounting.Holding, part *snapshot.HeldPart, labels map[string]string) {
	h.Queue = o.snapshot.Ledger.Name(part.Queue)
	if label := o.recorder.arguments.Label; label != "" {
		h.Label = labels[label]
	}
	if o.Continues(h.Key, h.Queue, h.Label, part.Amounts) {
		return
	}
	h.Amounts = part.Amounts
	o.Hold(h)
}

// resourcesOf returns the key of the resources of a pod. Its cards have a separate key.
func resourcesOf(pod *corev1.Pod) accounting.Key { return accounting.Key(pod.UID) + "/resources" }

// keyOf returns the key of a claim. The claim for the extended resources of a pod has its final UID before the pod has its node.
func keyOf(object *resourceapi.ResourceClaim) accounting.Key { return accounting.Key(object.UID) }

// heldSince returns when a pod got its node according to the API server, nil if not known yet. Pods that no scheduler placed have no
// condition.
func heldSince(pod *corev1.Pod) *metav1.Time {
	if since := snapshot.ScheduledSince(pod); since != nil {
		return since
	}
	return pod.Status.StartTime
}

// allocatedSince returns when a claim got its devices, the zero time if unknown.
func allocatedSince(claim *resourceapi.ResourceClaim) time.Time {
	if claim.Status.Allocation == nil || claim.Status.Allocation.AllocationTimestamp == nil {
		return time.Time{}
	}
	return claim.Status.Allocation.AllocationTimestamp.Time
}

// finished returns when the last container of a pod finished, the zero time if the pod still runs.
func finished(pod *corev1.Pod) time.Time {
	var end time.Time
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return end
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if ended := statuses[i].State.Terminated; ended != nil && ended.FinishedAt.After(end) {
				end = ended.FinishedAt.Time
			}
		}
	}
	return end
}
