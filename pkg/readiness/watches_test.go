// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// TestAnInformerRecoversWhenItsWatchIsBack: nothing changes afterwards, so the informer gets no event.
func TestAnInformerRecoversWhenItsWatchIsBack(t *testing.T) {
	broken := &atomic.Bool{}
	broken.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") == "":
			_, _ = fmt.Fprint(w, `{"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}}`)
		case broken.Load():
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	all := NewInformers(clock.RealClock{})
	config := &rest.Config{Host: server.URL + "/behind/a/path"}
	config.Wrap(all.Transport)
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	if err := all.Add(corev1.Resource("nodes"), factory.Core().V1().Nodes().Informer()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	factory.Start(done)
	defer factory.Shutdown()
	defer close(done)
	eventually(t, "the nodes are listed, and their watch fails", func() bool { return all.someFail() && all.all[0].source.HasSynced() })
	broken.Store(false)
	eventually(t, "the nodes are watched", func() bool { return all.Err() == nil })
}

func TestResourceOfAWatch(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods": "pods", "/api/v1/namespaces/api/pods": "pods", "/apis/work.karmada.io/v1alpha1/works": "works.work.karmada.io",
		"/apis/work.karmada.io/v1alpha1/namespaces/apis/works": "works.work.karmada.io",
		"/clusters/apis/apis/apps/v1/deployments":              "deployments.apps", "/api/v1": "", "/": "", "": "",
	} {
		if got := resourceOf(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
