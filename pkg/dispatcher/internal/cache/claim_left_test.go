// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/json"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	"github.com/karmada-io/karmada/pkg/util/names"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestNoClaimIsCountedForAnotherOneThatClustersKeep: a user deletes a claim template, leaves its binding behind, and creates a smaller one. Karmada
// cannot replace the large one in a cluster.
func TestNoClaimIsCountedForAnotherOneThatClustersKeep(t *testing.T) {
	id := map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}
	left := func(name string, sent metav1.Object) []runtime.Object {
		raw, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: names.GenerateWorkName(sentKind(sent), sent.GetName(), sent.GetNamespace()), Labels: id}}
		work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
		return []runtime.Object{&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: id}}, work}
	}
	for name, tc := range map[string]struct {
		given metav1.Object
		left  []runtime.Object
		want  string
	}{
		"a template":                  {template("ns", "a", 1), left("a-resourceclaimtemplate", template("ns", "a", 8)), "m1"},
		"a claim":                     {claim("a", 1), left("a-resourceclaim", claim("a", 8)), "m1"},
		"the same devices":            {claim("a", 8), left("a-resourceclaim", claim("a", 8)), ""},
		"a binding without Works":     {claim("a", 1), left("a-resourceclaim", claim("a", 8))[:1], ""},
		"no binding":                  {claim("a", 1), nil, ""},
		"a Work that a cluster keeps": {claim("a", 1), left("a-resourceclaim", claim("a", 8))[1:], "m1"},
		"the binding of another kind": {claim("a", 1), left("a-resourceclaimtemplate", template("ns", "a", 8)), ""},
	} {
		c := newFake(t)
		c.clients.Karmada = karmadafake.NewSimpleClientset(tc.left...)
		if err := c.clusterInformer.Informer().GetStore().Add(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}); err != nil {
			t.Fatal(err)
		}
		for _, o := range tc.left {
			if work, is := o.(*workv1alpha1.Work); is {
				if err := c.workInformer.GetStore().Add(work); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := c.ClusterWithOther(t.Context(), tc.given); err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

func sentKind(o metav1.Object) string {
	if _, is := o.(*resourceapi.ResourceClaimTemplate); is {
		return "ResourceClaimTemplate"
	}
	return "ResourceClaim"
}
