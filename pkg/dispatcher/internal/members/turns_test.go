// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlisters "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestOneNamespaceLeavesTurnsToOthers asks about more workloads of a namespace than there are turns, while the member does not answer.
func TestOneNamespaceLeavesTurnsToOthers(t *testing.T) {
	answers := make(chan struct{})
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answers:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/pods") {
			fmt.Fprint(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","items":[]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
	}))
	defer member.Close()
	clusters := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := clusters.Add(pushed("member1", member.URL)); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 1000)
	r := &Remains{Secrets: fake.NewClientset(tokenOf("member1", "t")), Clusters: clusterlisters.NewClusterLister(clusters), Changed: func() { changed <- struct{}{} }}
	r.Start(t.Context())
	t.Cleanup(r.Shutdown)
	workload := func(namespace, name string) *framework.Workload {
		w := &framework.Workload{Binding: &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{UID: types.UID(name)}}}
		w.Binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name, UID: types.UID(name)}
		return w
	}
	var theirs []*framework.Workload
	for i := range 3 * maxLooks {
		theirs = append(theirs, workload("theirs", fmt.Sprint("theirs-", i)))
	}
	ours, since := workload("ours", "ours"), time.Now()
	unknown := func() (n int) {
		r.Turn()
		for _, w := range append(theirs, ours) {
			if r.Of(w, "member1", since).Err != nil {
				n++
			}
		}
		return n
	}
	unknown()
	r.mu.Lock()
	if r.looks["theirs"] != maxLooks || r.looks["ours"] != 1 {
		t.Errorf("looks under way: %v, want %d of theirs and 1 of ours", r.looks, maxLooks)
	}
	r.mu.Unlock()
	close(answers)
	for unknown() > 0 {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("%d workloads are never looked for", unknown())
		}
	}
}
