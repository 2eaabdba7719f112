// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestLongSelectionsTakeNotLong: with 1,000 nodes, 1,000 different selectors of the tasks of a few jobs took 2 s of a session.
func TestLongSelectionsTakeNotLong(t *testing.T) {
	var f Fleet
	for i := range 1000 {
		n := node("nvidia.com/gpu.product=A", "nvidia.com/gpu=8")
		for l := range 10 {
			n.Labels[fmt.Sprint("label-", l)] = "x"
		}
		f.Set(fmt.Sprint("n", i), Read(n, nil))
	}
	var kept []*Selection
	for i := range 1000 {
		var terms []corev1.NodeSelectorTerm
		for j := range 4 {
			var expressions []corev1.NodeSelectorRequirement
			for k := range 7 {
				expressions = append(expressions, corev1.NodeSelectorRequirement{Key: fmt.Sprint("label-", k), Operator: corev1.NodeSelectorOpExists})
			}
			expressions = append(expressions, corev1.NodeSelectorRequirement{Key: fmt.Sprint("none-", i, "-", j), Operator: corev1.NodeSelectorOpExists})
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: expressions})
		}
		kept = append(kept, f.Select(&corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}}))
	}
	if kept[0] == nil || kept[999] != nil || f.selectionTexts > maxSelectionTexts {
		t.Errorf("selectors of %d characters are kept, of the first %t and the last %t", f.selectionTexts, kept[0] != nil, kept[999] != nil)
	}
}
