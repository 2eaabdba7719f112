// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/json"
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestAPlacementIsReadOnce: each cycle asks about workloads that have moved, of which a user may have thousands, and a cycle of more than five seconds
// grants nobody anything.
func TestAPlacementIsReadOnce(t *testing.T) {
	placement := &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{}}
	for i := range 1000 {
		placement.ClusterAffinity.ClusterNames = append(placement.ClusterAffinity.ClusterNames, fmt.Sprint("member-", i))
	}
	followed, err := json.Marshal(placement)
	if err != nil {
		t.Fatal(err)
	}
	w := &Workload{Binding: &workv1alpha2.ResourceBinding{}}
	w.Binding.Annotations = map[string]string{"policy.karmada.io/applied-placement": string(followed)}
	w.Binding.Spec.Placement = placement.DeepCopy()
	w.Binding.Spec.Placement.ClusterAffinity.ClusterNames[0] = "another"
	w.Binding.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "member-1"}}
	w.State.Grant = &binding.Grant{Moves: true}
	if allocs := testing.AllocsPerRun(10, func() {
		if !w.MovesAgain() {
			t.Error("it does not move")
		}
	}); allocs > 10 {
		t.Errorf("%v allocations for each question", allocs)
	}
}
