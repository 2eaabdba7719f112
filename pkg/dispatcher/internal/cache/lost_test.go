// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestWhatABindingSendsElsewhereIsNoneOfACluster: Karmada may recreate an object in a cluster that its workload has left.
func TestWhatABindingSendsElsewhereIsNoneOfACluster(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "team", Name: "web-deployment", Labels: map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}}
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: meta}
	rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","clusters":["left","chosen"],"amounts":[]}`}
	rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "chosen"}}
	work := &workv1alpha1.Work{ObjectMeta: *meta.DeepCopy()}
	work.Namespace = "karmada-es-working"
	for _, shown := range []bool{true, false} {
		c := &Cache{clients: &Clients{Karmada: karmadafake.NewSimpleClientset(rb, work)}}
		c.bindingInformer = cache.NewSharedIndexInformer(nil, rb, 0, permanentIDs)
		c.workInformer = cache.NewSharedIndexInformer(nil, work, 0, permanentIDs)
		if shown {
			c.clients.Karmada = karmadafake.NewSimpleClientset()
			_ = c.bindingInformer.GetIndexer().Add(rb)
			_ = c.workInformer.GetIndexer().Add(work)
		}
		for cluster, want := range map[string]bool{"chosen": true, "left": true, "working": true, "other": false} {
			if sends, err := c.Sends(t.Context(), "id", cluster); err != nil || sends != want {
				t.Errorf("shown %t, cluster %s: got %t, %v", shown, cluster, sends, err)
			}
		}
		if sends, err := c.Sends(t.Context(), "unknown", "chosen"); err != nil || sends {
			t.Errorf("another ID: got %t, %v", sends, err)
		}
	}
}
