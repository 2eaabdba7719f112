// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// readPlacement finds out whether a granted binding runs nowhere.
func (s *State) readPlacement(rb *workv1alpha2.ResourceBinding, clusters []string, works []*workv1alpha1.Work) {
	held := s.Hold != nil && s.Hold.Reason != Growing || s.Hold == nil && rb.Annotations[HoldAnnotation] != ""
	if s.Grant == nil || held || s.Deleting || s.SuspendedByOthers || s.Finished {
		return
	}
	if len(clusters) == 0 {
		s.readUnscheduled(rb)
	} else {
		s.readNotApplied(rb, clusters, works)
	}
}

// readUnscheduled reads a binding without clusters. The scheduler writes the observed generation only if it succeeds, so its last
// refusal counts for any generation. Success without clusters means that there are no replicas. Success for an older generation
// belongs to a former grant, or the clusters were removed and the scheduler has not answered yet. Without a policy, it never answers.
func (s *State) readUnscheduled(rb *workv1alpha2.ResourceBinding) {
	granted := s.Grant.Time.Time
	scheduled := meta.FindStatusCondition(rb.Status.Conditions, workv1alpha2.Scheduled)
	switch {
	case s.Hold != nil && len(s.Grant.Amounts) == 0:
		// The workload has grown from nothing and holds nothing.
	case scheduled != nil && scheduled.Status == metav1.ConditionFalse:
		s.NotPlaced, s.PlacedUntil = true, latest(granted, scheduled.LastTransitionTime.Time)
		s.WhyNotPlaced = cmp.Or(scheduled.Message, scheduled.Reason)
	case scheduled != nil && rb.Status.SchedulerObservedGeneration == rb.Generation:
	case rb.Status.LastScheduledTime != nil && !rb.Status.LastScheduledTime.Time.Before(granted) && !s.NoPolicy:
	default:
		s.NotPlaced, s.PlacedUntil = true, granted
		s.WhyNotPlaced = "Karmada's scheduler has not tried yet"
	}
	s.WhyNotPlaced = strings.TrimRight(s.WhyNotPlaced, ". ")
	if s.NotPlaced && s.NoPolicy {
		s.WhyNotPlaced = "no policy matches the workload"
	}
}

// readNotApplied reads a binding with clusters. Karmada does not say which update has failed. A status in a Work shows that
// the cluster has accepted the workload before.
func (s *State) readNotApplied(rb *workv1alpha2.ResourceBinding, clusters []string, works []*workv1alpha1.Work) {
	applied := slices.ContainsFunc(rb.Status.AggregatedStatus, func(item workv1alpha2.AggregatedStatusItem) bool {
		return item.Applied && slices.Contains(clusters, item.ClusterName)
	})
	reported := slices.ContainsFunc(works, func(work *workv1alpha1.Work) bool { return len(work.Status.ManifestStatuses) > 0 })
	if applied || reported || meta.IsStatusConditionTrue(rb.Status.Conditions, workv1alpha2.FullyApplied) {
		return // if it is applied everywhere but in none of the clusters, the workload has just left the clusters that applied it
	}
	s.NotPlaced, s.PlacedUntil = true, s.Grant.Time.Time
	for _, condition := range []string{workv1alpha2.Scheduled, workv1alpha2.FullyApplied} {
		if c := meta.FindStatusCondition(rb.Status.Conditions, condition); c != nil {
			s.PlacedUntil = latest(s.PlacedUntil, c.LastTransitionTime.Time)
		}
	}
	var why []string
	for i := range rb.Status.AggregatedStatus {
		if item := &rb.Status.AggregatedStatus[i]; item.AppliedMessage != "" && slices.Contains(clusters, item.ClusterName) {
			why = append(why, "cluster "+item.ClusterName+": "+item.AppliedMessage)
		}
	}
	s.WhyNotPlaced = cmp.Or(strings.Join(why, "; "), "no cluster has said yet that it runs the workload")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// appliedPlacement is the annotation with the placement that Karmada's scheduler has followed.
const appliedPlacement = "policy.karmada.io/applied-placement"

// ForgetPlacement makes the placement of a binding new, so that Karmada's scheduler chooses clusters again as soon as it may.
func ForgetPlacement(rb *workv1alpha2.ResourceBinding) {
	metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, "")
}

// KeepFollowed undoes a change of which placement the scheduler has followed, unless that is the binding's placement now. The scheduler may write an
// earlier placement late. Karmada's dependencies distributor may write the annotations of an earlier version, and users may write anything.
func KeepFollowed(old, rb *workv1alpha2.ResourceBinding) {
	text, noted := old.Annotations[appliedPlacement]
	switch {
	case PlacementFollowed(rb):
	case noted:
		metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, text)
	default:
		delete(rb.Annotations, appliedPlacement)
	}
}

// PlacementForgotten reports whether ForgetPlacement was called since the scheduler last chose clusters.
func PlacementForgotten(rb *workv1alpha2.ResourceBinding) bool {
	text, noted := rb.Annotations[appliedPlacement]
	return noted && text == ""
}

// KindOf returns the kind of the workload of a binding.
func KindOf(rb *workv1alpha2.ResourceBinding) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(rb.Spec.Resource.APIVersion, rb.Spec.Resource.Kind)
}

// Divides reports whether each cluster gets a part of the replicas. Karmada does not divide Volcano Jobs and objects with several
// components, even if the placement says so.
func Divides(rb *workv1alpha2.ResourceBinding) bool {
	kind := KindOf(rb)
	return rb.Spec.Placement != nil && rb.Spec.Placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided &&
		rb.Spec.Replicas > 0 && len(rb.Spec.Components) <= 1 && kind.GroupKind() != workload.VolcanoJob.GroupKind()
}

// EvictsTooMuch reports whether more is evicted from some clusters than a granted binding has: copies, or replicas if they are divided.
func EvictsTooMuch(rb *workv1alpha2.ResourceBinding, from []string, copies int64) bool {
	if !Divides(rb) {
		return int64(len(from)) > copies
	}
	var replicas int32
	for i := range rb.Spec.GracefulEvictionTasks {
		switch task := &rb.Spec.GracefulEvictionTasks[i]; {
		case !slices.Contains(from, task.FromCluster):
		case task.Replicas == nil:
			return len(from) > 1
		default:
			replicas += *task.Replicas
		}
	}
	return replicas > rb.Spec.Replicas
}

// PlacementIsNew reports whether the scheduler has chosen clusters for a placement other than the binding's. Other components that
// choose clusters may omit the annotation.
func PlacementIsNew(rb *workv1alpha2.ResourceBinding) bool {
	_, noted := rb.Annotations[appliedPlacement]
	return noted && rb.Spec.Placement != nil && !PlacementFollowed(rb)
}

// PlacementFollowed reports whether the scheduler has chosen clusters for the placement of a binding. It reads what the scheduler has noted only if that is
// not the text that the scheduler would write now, because users write placements of a hundred kilobytes.
func PlacementFollowed(rb *workv1alpha2.ResourceBinding) bool {
	text, noted := rb.Annotations[appliedPlacement]
	if !noted || rb.Spec.Placement == nil {
		return false
	}
	if now, err := json.Marshal(rb.Spec.Placement); err == nil && string(now) == text {
		return true
	}
	followed := policyv1alpha1.Placement{}
	return json.Unmarshal([]byte(text), &followed) == nil && apiequality.Semantic.DeepEqual(&followed, rb.Spec.Placement)
}
