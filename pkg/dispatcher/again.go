// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// again returns the patch of a decision for a later version of the binding, nil if the decision must be made anew. A user whose workload is to go may change
// something of it all the time, such as its labels, and each change makes another version of its binding. Decisions with this function count for later versions,
// too, as long as the workload has the same grant and clusters.
type again func(later *workv1alpha2.ResourceBinding) []byte

// takesBack is a decision to take a grant back.
func takesBack(w *framework.Workload, requeue *binding.Requeue) again {
	return func(later *workv1alpha2.ResourceBinding) []byte {
		state, same := sameCharge(w, later)
		if !same || !goesOn(&state) {
			return nil
		}
		return binding.PatchTakeBack(later, state.Hold, w.Queue, requeue)
	}
}

// takesBackInVain is takesBack for a grant that no cluster can use.
func takesBackInVain(w *framework.Workload, requeue *binding.Requeue) again {
	takesBack := takesBack(w, requeue)
	return func(later *workv1alpha2.ResourceBinding) []byte {
		state := binding.Read(later, w.Works)
		if !state.NotPlaced || state.PlacedUntil.After(w.State.PlacedUntil) {
			return nil
		}
		return takesBack(later)
	}
}

// takesBackAs is takesBack with another grant in place of the one that the workload has.
func takesBackAs(w *framework.Workload, grant *binding.Grant, requeue *binding.Requeue) again {
	return func(later *workv1alpha2.ResourceBinding) []byte {
		state, same := sameCharge(w, later)
		if !same || !goesOn(&state) || later.Annotations[binding.GrantAnnotation] != w.Binding.Annotations[binding.GrantAnnotation] {
			return nil
		}
		return binding.PatchTakeBackAs(later, state.Hold, grant, requeue)
	}
}

// records is a decision to note something in the grant of a workload that was taken back.
func records(w *framework.Workload, grant *binding.Grant) again {
	return func(later *workv1alpha2.ResourceBinding) []byte {
		if returned(w)(later) == nil || later.Annotations[binding.GrantAnnotation] != w.Binding.Annotations[binding.GrantAnnotation] {
			return nil
		}
		return binding.PatchRecord(later, grant)
	}
}

// returned is a decision to end a grant that was taken back.
func returned(w *framework.Workload) again {
	return func(later *workv1alpha2.ResourceBinding) []byte {
		state, same := sameCharge(w, later)
		if !same || state.Deleting || state.Hold == nil || state.Hold.Reason != binding.Returning {
			return nil
		}
		return binding.PatchEndGrant(later, state.Hold)
	}
}

// goesOn reports whether a workload runs or may run, and is neither deleted nor taken back. What has ended meanwhile would run again after it was taken back.
func goesOn(state *binding.State) bool {
	return !state.Deleting && !state.Finished && (state.Hold == nil || state.Hold.Reason == binding.Growing)
}

// sameCharge returns the state of a later version of the binding of a workload, and whether it has the same grant and clusters.
func sameCharge(w *framework.Workload, later *workv1alpha2.ResourceBinding) (binding.State, bool) {
	state, before := binding.Read(later, nil), w.State.Grant
	return state, state.Err == nil && before != nil && state.Grant != nil && state.Grant.Queue == before.Queue &&
		slices.Equal(state.Grant.Amounts, binding.NormalAmounts(before.Amounts)) && slices.Equal(state.Grant.Clusters, before.Clusters) &&
		slices.Equal(binding.Clusters(later), binding.Clusters(w.Binding))
}
