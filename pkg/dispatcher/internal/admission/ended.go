// SPDX-License-Identifier: Apache-2.0

package admission

import (
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// runsAgain reports whether an ended workload with a grant is sent to clusters where it has not run, or is removed from its clusters
// to be sent elsewhere. Its queue may have granted its room to others. Dependencies of other workloads do not ask for room.
func runsAgain(old, rb *workv1alpha2.ResourceBinding) bool {
	equal := apiequality.Semantic.DeepEqual
	held := has(rb, binding.HoldAnnotation)
	if h := holdOf(rb); h != nil && h.Reason == binding.Growing {
		held = false // its growth needs no room any more, and what it had might go on without asking
	}
	if old == nil || held || rb.DeletionTimestamp != nil || !has(rb, binding.GrantAnnotation) || len(rb.Spec.RequiredBy) > 0 ||
		equal(old.Spec.Clusters, rb.Spec.Clusters) && equal(old.Spec.GracefulEvictionTasks, rb.Spec.GracefulEvictionTasks) {
		return false
	}
	next := *rb
	next.Status = old.Status
	return binding.Read(old, nil).Finished && !binding.Read(&next, nil).Finished
}

// endGrant takes back the grant of a workload that has ended, or that another one takes the place of. The workload waits when it has left its clusters. Evictions are dropped,
// because nothing else is to run in its place.
func endGrant(old, rb *workv1alpha2.ResourceBinding) {
	h := binding.Hold{KeepScheduling: rb.Spec.SchedulingSuspended()}
	if held := holdOf(rb); held != nil { // its suspensions must be lifted some day
		h = binding.Hold{KeepScheduling: held.KeepScheduling, Dispatching: held.Dispatching}
	}
	h.Reason = binding.Returning
	if state := binding.Read(old, nil); state.Grant != nil {
		h.Queue, h.Ended = state.Grant.Queue, state.Finished && len(left(old, state.Grant)) == 0
	}
	rb.Spec.Clusters, rb.Spec.GracefulEvictionTasks = nil, nil
	hold(rb, h)
}
