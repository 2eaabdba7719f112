// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"errors"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestWhatClustersThatAreLeftMayHave: a workload was granted 4 cores, and leaves m1 for m2. Clusters do not see its changes.
func TestWhatClustersThatAreLeftMayHave(t *testing.T) {
	cpu := ledger.Dimension{Kind: ledger.Resource, Name: "cpu"}
	cores := func(n int64) []binding.Amount { return []binding.Amount{{Dimension: cpu, Amount: ledger.Units(n)}} }
	two := func(w *framework.Workload, each int64) {
		w.State.Grant.Copies, w.State.Grant.Copy = 2, cores(each)
		w.Binding.Spec.Clusters = append(w.Binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: "m3"})
	}
	for name, tc := range map[string]struct {
		change func(*framework.Workload)
		want   int64
	}{
		"it leaves a cluster":         {func(*framework.Workload) {}, 8},
		"its needs are not known":     {func(w *framework.Workload) { w.Err = errors.New("its claim template is gone") }, 8},
		"it only leaves":              {func(w *framework.Workload) { w.Binding.Spec.Clusters, w.Places = nil, []string{"m1"} }, 4},
		"it leaves one more":          {func(w *framework.Workload) { w.Places = []string{"m0", "m1", "m2"} }, 12},
		"it only leaves two":          {func(w *framework.Workload) { w.Binding.Spec.Clusters, w.Places = nil, []string{"m0", "m1"} }, 8},
		"it leaves no cluster":        {func(w *framework.Workload) { w.Places = []string{"m2"} }, 4},
		"it keeps two copies":         {func(w *framework.Workload) { two(w, 2); w.Places = append(w.Places, "m3") }, 6},
		"its copies had more before":  {func(w *framework.Workload) { two(w, 3); w.Places = append(w.Places, "m3") }, 9},
		"it leaves one of two copies": {func(w *framework.Workload) { two(w, 2); w.Binding.Spec.Clusters = w.Binding.Spec.Clusters[:1] }, 4},
		"it is about to move again": {func(w *framework.Workload) {
			w.State.Grant.Moves, w.Places, w.Binding.Annotations = true, []string{"m2"}, map[string]string{"policy.karmada.io/applied-placement": "{}"}
			w.Binding.Spec.Placement = &policyv1alpha1.Placement{ClusterTolerations: []corev1.Toleration{{Key: "new"}}}
		}, 8},
	} {
		dimensions := &ledger.Dimensions{}
		w := &framework.Workload{
			Binding: &workv1alpha2.ResourceBinding{}, Places: []string{"m1", "m2"}, State: binding.State{Hold: &binding.Hold{Reason: binding.Growing}, Grant: &binding.Grant{Amounts: cores(4)}},
		}
		w.Binding.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m2"}}
		tc.change(w)
		if got := Charged(dimensions, w).Of(dimensions.Ordinal(cpu)); got != ledger.Units(tc.want) {
			t.Errorf("%s: it is charged %s cores, want %d", name, got, tc.want)
		}
	}
}
