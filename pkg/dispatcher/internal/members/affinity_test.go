// SPDX-License-Identifier: Apache-2.0

package members

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestAnAffinityAdmitsTheClustersThatKarmadaWouldChoose(t *testing.T) {
	type affinity = policyv1alpha1.ClusterAffinity
	field := func(key string, operator corev1.NodeSelectorOperator, values ...string) affinity {
		return affinity{FieldSelector: &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}}
	}
	label := func(key, value string) affinity {
		return affinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	cluster := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "member1", Labels: map[string]string{"tier": "gpu"}},
		Spec:       clusterv1alpha1.ClusterSpec{Provider: "own", Zones: []string{"z1", "z2"}},
	}
	for name, c := range map[string]struct {
		affinity affinity
		want     bool
	}{
		"nothing":                             {affinity{}, true},
		"its name":                            {affinity{ClusterNames: []string{"member0", "member1"}}, true},
		"another name":                        {affinity{ClusterNames: []string{"member0"}}, false},
		"it is excluded":                      {affinity{ClusterNames: []string{"member1"}, ExcludeClusters: []string{"member1"}}, false},
		"its label":                           {label("tier", "gpu"), true},
		"another label":                       {label("tier", "cpu"), false},
		"a selector that is invalid":          {affinity{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "?"}}}}, false},
		"its provider":                        {field("provider", corev1.NodeSelectorOpIn, "own"), true},
		"another provider":                    {field("provider", corev1.NodeSelectorOpIn, "other"), false},
		"a region, and it has none":           {field("region", corev1.NodeSelectorOpExists), false},
		"no region, and it has none":          {field("region", corev1.NodeSelectorOpDoesNotExist), true},
		"all of its zones":                    {field("zone", corev1.NodeSelectorOpIn, "z1", "z2", "z3"), true},
		"one of its zones":                    {field("zone", corev1.NodeSelectorOpIn, "z1"), false},
		"not in a zone of another cluster":    {field("zone", corev1.NodeSelectorOpNotIn, "z3"), true},
		"not in one of its zones":             {field("zone", corev1.NodeSelectorOpNotIn, "z2"), false},
		"any zone":                            {field("zone", corev1.NodeSelectorOpExists), true},
		"no zone":                             {field("zone", corev1.NodeSelectorOpDoesNotExist), false},
		"an operator that fields do not have": {field("zone", corev1.NodeSelectorOpGt, "1"), false},
		"values that are missing":             {field("provider", corev1.NodeSelectorOpIn), false},
	} {
		t.Run(name, func(t *testing.T) {
			var s selectors
			for range 3 { // compiled, remembered, and taken over
				s.turn()
				if got := s.allows(&policyv1alpha1.Placement{ClusterAffinity: &c.affinity}, cluster); got != c.want {
					t.Errorf("admitted: %t", got)
				}
				groups := []policyv1alpha1.ClusterAffinityTerm{{ClusterAffinity: affinity{ClusterNames: []string{"member0"}}}, {ClusterAffinity: c.affinity}}
				if got := s.allows(&policyv1alpha1.Placement{ClusterAffinities: groups}, cluster); got != c.want {
					t.Errorf("admitted as the second group: %t", got)
				}
			}
		})
	}
}
