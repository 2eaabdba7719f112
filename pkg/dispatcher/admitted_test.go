// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// arbitraryPlacement returns a placement on one or more of the clusters.
func (w *world) arbitraryPlacement() *policyv1alpha1.Placement {
	p := &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: w.someMembers()}}
	if w.chance(30) {
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	}
	if w.chance(30) {
		p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1 + w.rand.IntN(2)}}
	}
	return p
}

// rewrite changes some fields of a binding that Karmada's controllers write.
func (w *world) rewrite(rb *workv1alpha2.ResourceBinding) {
	if w.chance(30) {
		rb.Spec.Placement = w.arbitraryPlacement()
	}
	if w.chance(20) {
		rb.Spec.Replicas = int32(w.rand.IntN(5))
	}
	if w.chance(40) {
		rb.Spec.Clusters = nil
		for _, name := range w.someMembers() {
			rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: int32(w.rand.IntN(5))})
		}
	}
	if w.chance(10) {
		rb.Spec.Clusters = nil
	}
	if w.chance(20) {
		rb.Spec.GracefulEvictionTasks = nil
		for _, name := range w.someMembers() {
			rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: name})
		}
	}
	switch w.rand.IntN(8) {
	case 0:
		delete(rb.Annotations, appliedPlacement)
	case 1:
		rb.Annotations = withEntry(rb.Annotations, appliedPlacement, string(must(jsonOf(w.arbitraryPlacement()))))
	case 2, 3:
		rb.Annotations = withEntry(rb.Annotations, appliedPlacement, string(must(jsonOf(rb.Spec.Placement))))
	case 4:
		rb.Annotations = withEntry(rb.Annotations, appliedPlacement, "")
	}
}

// TestWhatIsAdmittedAndNotHeldIsGranted: no write of others makes a workload need more than its grant, unless it is held.
func TestWhatIsAdmittedAndNotHeldIsGranted(t *testing.T) {
	for seed := range uint64(60) {
		w := newQueueWorld(t, seed, 100, true)
		w.deploy("web", int32(1+w.rand.IntN(4)), "m1")
		w.policies[web] = w.arbitraryPlacement()
		w.pass(5)
		cache := w.replicas[0].dispatcher.cache
		for range 30 {
			before := w.binding(web)
			template, err := cache.Template(t.Context(), before)
			if err != nil {
				t.Fatal(err)
			}
			more, err := cache.OfWorkloads.Exceeds(template, before)
			if err != nil || len(more) > 0 || before.Annotations[binding.HoldAnnotation] != "" || t.Failed() {
				break
			}
			asked := before.DeepCopy()
			w.rewrite(asked)
			w.write(asked.DeepCopy())
			now := w.binding(web)
			if more, err = cache.OfWorkloads.Exceeds(template, now); err != nil || now.Annotations[binding.HoldAnnotation] == "" && len(more) > 0 {
				t.Errorf("it needs %v more than its grant (%v)\nbefore: %v\nasked:  %v\nstored: %v", more, err, string(must(jsonOf(before))), string(must(jsonOf(asked))), string(must(jsonOf(now))))
			}
			w.replicas[0].showAll()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
