// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
			o.claim(part, h.Claim.Labels)
		} else if since := heldSince(h.Task.Pod); since == nil {
			continue // the API server does not show the node of the pod yet
		} else if part.Claim != nil {
			o.claimOf(h.Task.Pod, part, since)
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

// claimOf tells what a claim of a pod holds. A claim without an allocation time holds its devices since the pod got its node.
func (o *observer) claimOf(pod *corev1.Pod, part *snapshot.HeldPart, since *metav1.Time) {
	claim := part.Claim.Object
	h := accounting.Holding{Key: keyOf(claim), Namespace: pod.Namespace, Since: cmp.Or(allocatedSince(claim), since.Time)}
	o.tell(h, part, pod.Labels)
}

// claim tells what a claim without a pod holds.
func (o *observer) claim(part *snapshot.HeldPart, labels map[string]string) {
	claim := part.Claim.Object
	o.tell(accounting.Holding{Key: keyOf(claim), Namespace: claim.Namespace, Since: allocatedSince(claim)}, part, labels)
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
