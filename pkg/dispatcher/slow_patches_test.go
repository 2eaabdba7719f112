// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	karmadaclient "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	"k8s.io/client-go/rest"
)

// TestSlowPatchesOfANamespaceKeepNoOtherWaiting: the API server takes long for bindings of a megabyte, such as those whose clusters have reported much.
func TestSlowPatchesOfANamespaceKeepNoOtherWaiting(t *testing.T) {
	const many = 100
	var others atomic.Int64
	written := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case strings.Contains(request.URL.Path, "/namespaces/slow/"):
			select {
			case <-written:
			case <-time.After(10 * time.Second):
				t.Errorf("%d of %d patches of another namespace are written", others.Load(), many)
			}
		case others.Add(1) == many:
			close(written)
		}
		answer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(answer).Encode(aBinding()); err != nil {
			t.Error(err)
		}
	}))
	defer api.Close()
	d, _ := dispatcherWith(t)
	client, err := karmadaclient.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	d.clients.Karmada = client
	var decisions []decision
	for range many {
		for _, namespace := range []string{"slow", "other"} {
			one := aDecision()
			one[0].Workload.Binding.Namespace = namespace
			decisions = append(decisions, one...)
		}
	}
	d.write(t.Context(), time.Now().Add(20*time.Second), decisions)
	for i := range decisions {
		if err := decisions[i].err; err != nil {
			t.Fatal(fmt.Errorf("a decision is not written: %w", err))
		}
	}
}
