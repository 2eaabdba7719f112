// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

func TestNobodyMakesPodsOfATemplateThatIsNotKnown(t *testing.T) {
	divided := func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}}
	}
	for name, c := range map[string]struct {
		kind     string
		replicas int64
		halts    bool
		rb       *workv1alpha2.ResourceBinding
		want     bool
	}{
		"the first pods of a paused Deployment":     {"Deployment", 1, true, newBinding(on("m1", 0)), true},
		"more of them, which are known":             {"Deployment", 4, true, newBinding(on("m1", 1)), false},
		"one that is in no cluster":                 {"Deployment", 4, true, newBinding(), false},
		"one that is not paused":                    {"Deployment", 1, false, newBinding(on("m1", 0)), false},
		"more of a StatefulSet with a partition":    {"StatefulSet", 2, true, newBinding(on("m1", 1), on("m2", 1)), true},
		"no more of it":                             {"StatefulSet", 2, true, newBinding(on("m1", 1), on("m2", 1), divided), false},
		"one without a placement, and with as many": {"StatefulSet", 1, true, newBinding(on("m1", 1), func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement = nil }), false},
	} {
		change := &change{after: &workload.Template{Kind: c.kind, Halts: c.halts, Pods: []workload.PodSet{{Count: c.replicas}}}}
		if got := change.makesFormerPods(c.rb); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
