// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestANodeIsToldItsProblemsOnce(t *testing.T) {
	const one = "Warning CardsNotRead The node's cards cannot be counted: one involvedObject{kind=Node,apiVersion=v1}"
	const both = "Warning CardsNotRead The node's cards cannot be counted: one; two involvedObject{kind=Node,apiVersion=v1}"
	f := newFixture(t)
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, step := range []struct {
		name     string
		problems []string
		gone     bool
		event    []string
	}{
		{name: "a problem", problems: []string{"one"}, event: []string{one}},
		{name: "the same", problems: []string{"one"}},
		{name: "one more", problems: []string{"one", "two"}, event: []string{both}},
		{name: "none"},
		{name: "the problem is back", problems: []string{"one"}, event: []string{one}},
		{name: "after the node was gone", problems: []string{"one"}, gone: true, event: []string{one}},
	} {
		if step.gone {
			f.ForgetNode("n")
		}
		f.Node(node, step.problems)
		f.expectEvents(step.name, step.event...)
	}
}
