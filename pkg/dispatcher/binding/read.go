// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"errors"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// Read returns the state of a binding. Works are all Works with its permanent ID, including those that are being deleted.
func Read(rb *workv1alpha2.ResourceBinding, works []*workv1alpha1.Work) State {
	s := State{
		NoPolicy: rb.Spec.Placement == nil ||
			rb.Labels[policyv1alpha1.PropagationPolicyPermanentIDLabel] == "" && rb.Labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel] == "",
		Deleting: rb.DeletionTimestamp != nil,
	}
	var errs []error
	s.Hold = read(rb, HoldAnnotation, ParseHold, &errs)
	s.Grant = read(rb, GrantAnnotation, ParseGrant, &errs)
	s.Requeue = read(rb, RequeueAnnotation, ParseRequeue, &errs)
	s.Change = read(rb, ChangeAnnotation, ParseChange, &errs)
	s.Err = errors.Join(errs...)

	_, held := rb.Annotations[HoldAnnotation]
	suspended := rb.Spec.SchedulingSuspended()
	s.SuspendedByOthers = suspended && (!held || s.Hold != nil && s.Hold.KeepScheduling)
	clusters := Clusters(rb)
	s.MayRun = !suspended || len(clusters) > 0 || len(works) > 0
	s.Ended, s.Finished = end(rb, clusters, works)
	if s.Hold != nil && s.Hold.Reason == Returning && s.Hold.Ended && !slices.ContainsFunc(works, isKept) {
		s.Finished = true
	}
	s.readPlacement(rb, clusters, works)
	return s
}

// read returns the content of an annotation, nil if it is missing or cannot be read.
func read[T any](rb *workv1alpha2.ResourceBinding, annotation string, parse func(string) (*T, error), errs *[]error) *T {
	text, given := rb.Annotations[annotation]
	if !given {
		return nil
	}
	value, err := parse(text)
	if err != nil {
		*errs = append(*errs, fmt.Errorf("annotation %s of ResourceBinding %s/%s cannot be read: %w", annotation, rb.Namespace, rb.Name, err))
		return nil
	}
	return value
}

// Clusters returns the names of the clusters that the workload goes to or that evict it, each once. They include the clusters
// of bindings that depend on it.
func Clusters(rb *workv1alpha2.ResourceBinding) []string { return append(Kept(rb), Evicting(rb)...) }

// Kept returns the clusters that are to have a binding's object.
func Kept(rb *workv1alpha2.ResourceBinding) []string {
	var names []string
	for i := range rb.Spec.Clusters {
		names = withName(names, rb.Spec.Clusters[i].Name)
	}
	for i := range rb.Spec.RequiredBy {
		for _, c := range rb.Spec.RequiredBy[i].Clusters {
			names = withName(names, c.Name)
		}
	}
	return names
}

// Evicting returns the clusters that evict a binding's object, and are not to have it any more.
func Evicting(rb *workv1alpha2.ResourceBinding) []string {
	keep, names := Kept(rb), []string(nil)
	for i := range rb.Spec.GracefulEvictionTasks {
		if name := rb.Spec.GracefulEvictionTasks[i].FromCluster; !slices.Contains(keep, name) {
			names = withName(names, name)
		}
	}
	return names
}

func withName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
