// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

func dividing(rb *workv1alpha2.ResourceBinding) {
	rb.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}}
}

// TestReplicasOfClusters: the binding has two replicas.
func TestReplicasOfClusters(t *testing.T) {
	const message = "ResourceBinding team/web-deployment: spec.clusters cannot get so many replicas, because Deployment team/web has 2 by now"
	jobs := func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Replicas = 0 }
	for _, c := range []bindingCase{
		{name: "each cluster gets all", old: newBinding(granting, on("m1", 2)), asked: newBinding(granting, on("m1", 1)), want: newBinding(granting, on("m1", 1))},
		{name: "no cluster gets those that there were before", old: newBinding(granting), asked: newBinding(granting, on("m1", 3)), message: message},
		{name: "nor does one that has others", old: newBinding(granting, on("m1", 3)), asked: newBinding(granting, on("m1", 4)), message: message},
		{name: "a cluster may keep them", old: newBinding(granting, on("m1", 3)), asked: newBinding(granting, on("m1", 3), annotated("a", "b")), want: newBinding(granting, on("m1", 3), annotated("a", "b"))},
		{name: "clusters share them", old: newBinding(granting, dividing, on("m1", 2)), asked: newBinding(granting, dividing, on("m1", 1), on("m2", 1)), want: newBinding(granting, dividing, on("m1", 1), on("m2", 1))},
		{name: "clusters do not get all if they share them by now", old: newBinding(granting, dividing, on("m1", 2)), asked: newBinding(granting, dividing, on("m1", 2), on("m2", 2)), message: message},
		{name: "clusters that had all may keep them until they share them", old: newBinding(granting, on("m1", 2), on("m2", 2)), asked: newBinding(granting, dividing, on("m1", 2), on("m2", 2)),
			want: newBinding(granting, dividing, changing, on("m1", 2), on("m2", 2))},
		{name: "clusters get those of the object if the binding has none", old: newBinding(granting, jobs), asked: newBinding(granting, jobs, on("m1", 3)), want: newBinding(granting, jobs, on("m1", 3))},
		{name: "what nobody counts gets any", old: newBinding(on("m1", 2)), asked: newBinding(on("m1", 3)), want: newBinding(on("m1", 3))},
	} {
		t.Run(c.name, c.run)
	}
}
