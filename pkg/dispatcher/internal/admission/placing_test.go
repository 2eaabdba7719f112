// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestAKindThatIsNotReadDoesNotGrowWhileItsPlacementWaits: clusters see such an object, and only its binding says that it grows.
func TestAKindThatIsNotReadDoesNotGrowWhileItsPlacementWaits(t *testing.T) {
	larger := func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}}
	}
	old := newBinding(flink, granting, on("m1", 2), held(placing))
	for _, c := range []bindingCase{
		{name: "more replicas", old: old, asked: newBinding(flink, granting, on("m1", 2), held(placing), objectAt("2", 4)),
			want: newBinding(flink, granting, on("m1", 2), objectAt("2", 4), held(growing), dispatching)},
		{name: "larger ones", old: old, asked: newBinding(flink, granting, on("m1", 2), held(placing), larger), want: newBinding(flink, granting, on("m1", 2), larger, held(growing), dispatching)},
		{name: "fewer replicas", old: old, asked: newBinding(flink, granting, on("m1", 2), held(placing), objectAt("2", 1)), want: newBinding(flink, granting, on("m1", 2), held(placing), objectAt("2", 1))},
		{name: "another change", old: old, asked: newBinding(flink, granting, on("m1", 2), held(placing), annotated("a", "b")), want: newBinding(flink, granting, on("m1", 2), held(placing), annotated("a", "b"))},
		{name: "one that is read, whose growth is held earlier", old: newBinding(granting, on("m1", 2), held(placing)), asked: newBinding(granting, on("m1", 2), held(placing), objectAt("2", 4)),
			want: newBinding(granting, on("m1", 2), held(placing), objectAt("2", 4))},
	} {
		t.Run(c.name, c.run)
	}
}
