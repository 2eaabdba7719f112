// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// newMetadata returns a client that reads the metadata of claim templates.
func newMetadata(tb testing.TB, templates ...*resourceapi.ResourceClaimTemplate) *metadatafake.FakeMetadataClient {
	tb.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	var all []runtime.Object
	for _, template := range templates {
		o := &metav1.PartialObjectMetadata{ObjectMeta: template.ObjectMeta}
		o.SetGroupVersionKind(resourceapi.SchemeGroupVersion.WithKind("ResourceClaimTemplate"))
		all = append(all, o)
	}
	return metadatafake.NewSimpleMetadataClient(scheme, all...)
}

func claimTemplateOf(name string, uid types.UID, most string) *resourceapi.ResourceClaimTemplate {
	return &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid, Annotations: map[string]string{"volcano.sh/max-devices": most}}}
}

// TestAGrantRestsOnTheClaimsThatAreStored: until it is granted room, the user of a workload may replace a claim template that it names.
func TestAGrantRestsOnTheClaimsThatAreStored(t *testing.T) {
	read := framework.ClaimRead{IsTemplate: true, Name: "gpus", UID: "1", Most: "2"}
	for name, tc := range map[string]struct {
		stored metadata.Interface
		want   error
	}{
		"the same":           {newMetadata(t, claimTemplateOf("gpus", "1", "2")), nil},
		"another one":        {newMetadata(t, claimTemplateOf("gpus", "2", "2")), errLags},
		"one that says more": {newMetadata(t, claimTemplateOf("gpus", "1", "8")), errLags},
		"none":               {newMetadata(t), errLags},
	} {
		d, sent := dispatcherWith(t)
		d.clients.Metadata = tc.stored
		decisions := aDecision()
		decisions[0].Workload.Needs.Read, decisions[0].counted = []framework.ClaimRead{read}, true
		d.write(t.Context(), time.Now().Add(MaxDecisionAge), decisions)
		if !errors.Is(decisions[0].err, tc.want) || (tc.want == nil) != (sent.Load() == 1) {
			t.Errorf("%s is stored: got error %v and %d patches, want %v", name, decisions[0].err, sent.Load(), tc.want)
		}
	}
}

// TestManyClaimsKeepNobodyWaiting: each workload may name 64 claim templates, and one request for each would keep the grants of all others waiting.
func TestManyClaimsKeepNobodyWaiting(t *testing.T) {
	var templates []*resourceapi.ResourceClaimTemplate
	var read []framework.ClaimRead
	for i := range 64 {
		name := fmt.Sprint(i)
		templates, read = append(templates, claimTemplateOf(name, types.UID(name), "")), append(read, framework.ClaimRead{IsTemplate: true, Name: name, UID: types.UID(name)})
	}
	d, _ := dispatcherWith(t)
	stored := newMetadata(t, templates...)
	d.clients.Metadata = stored
	var decisions []decision
	for range 100 {
		one := aDecision()
		one[0].Workload.Needs.Read, one[0].counted = read, true
		decisions = append(decisions, one...)
	}
	d.write(t.Context(), time.Now().Add(MaxDecisionAge), decisions)
	for i := range decisions {
		if decisions[i].err != nil {
			t.Fatal(decisions[i].err)
		}
	}
	asked := len(stored.Actions()) + len(d.clients.Kubernetes.(*kubefake.Clientset).Actions())
	if asked > 1 {
		t.Errorf("%d requests for 64 claim templates of 100 workloads, want one", asked)
	}
}

// TestASlowListOfClaimsKeepsNoOtherNamespaceWaiting: a user may have so many claims that the list takes seconds, and more workloads than there are writers.
func TestASlowListOfClaimsKeepsNoOtherNamespaceWaiting(t *testing.T) {
	const each = 2 * writers
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d, _ := dispatcherWith(t)
	written, wrote := make(chan struct{}), 0
	d.clients.Karmada.(*karmadafake.Clientset).PrependReactor("patch", "resourcebindings", func(action k8stesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "other" {
			if wrote++; wrote == each {
				close(written)
			}
		}
		return true, aBinding(), nil
	})
	stored := newMetadata(t, claimTemplateOf("gpus", "1", ""))
	stored.PrependReactor("list", "*", func(k8stesting.Action) (bool, runtime.Object, error) {
		select {
		case <-written:
		case <-ctx.Done():
			t.Error("another namespace waits for the list")
		}
		return false, nil, nil
	})
	d.clients.Metadata = stored
	var decisions []decision
	for range each {
		slow, other := aDecision()[0], aDecision()[0]
		slow.Workload.Needs.Read, slow.counted = []framework.ClaimRead{{IsTemplate: true, Name: "gpus", UID: "1"}}, true
		other.Workload.Binding.Namespace = "other"
		decisions = append(decisions, slow, other)
	}
	d.write(t.Context(), time.Now().Add(time.Minute), decisions)
	for i := range decisions {
		if decisions[i].err != nil {
			t.Fatal(decisions[i].err)
		}
	}
}
