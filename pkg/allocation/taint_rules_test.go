// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestDeviceTaintRulesAreReadInTheVersionThatIsServed(t *testing.T) {
	for _, c := range []struct {
		name, served string
		want         int
	}{
		{"Kubernetes 1.33 to 1.35", "v1alpha3", 2},
		{"Kubernetes 1.36", "v1beta2", 2},
		{"none, so there are no rules", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(taintRulesIn(c.served))
			defer server.Close()
			kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			factory := informers.NewSharedInformerFactory(kube, 0)
			rules := newTaintRules(kube, factory)
			factory.Start(ctx.Done())
			defer factory.Shutdown()
			defer cancel()
			err = wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				return rules.Informer().HasSynced() && len(rules.Informer().GetStore().List()) == c.want, nil
			})
			all, _ := rules.Lister().List(labels.Everything())
			if err != nil {
				t.Fatalf("synced: %t, with %d rules, want %d", rules.Informer().HasSynced(), len(all), c.want)
			}
			for _, rule := range all {
				if *rule.Spec.DeviceSelector.Driver != "driver" || rule.Spec.Taint.Effect != "NoSchedule" {
					t.Errorf("the rule is %v", rule)
				}
			}
		})
	}
}

// taintRulesIn is an API server with one rule in some version. It adds another rule later.
func taintRulesIn(version string) http.Handler {
	rule := func(name string) string {
		return fmt.Sprintf(`{"kind": "DeviceTaintRule", "apiVersion": "resource.k8s.io/%s", "metadata": {"name": %q, "resourceVersion": "2"},
			"spec": {"deviceSelector": {"driver": "driver"}, "taint": {"key": "example.com/unhealthy", "effect": "NoSchedule"}}, "status": {"inTheFuture": 1}}`, version, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.HasPrefix(r.URL.Path, "/apis/resource.k8s.io/"+version+"/devicetaintrules"):
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Query().Get("watch") == "":
			fmt.Fprintf(w, `{"kind": "DeviceTaintRuleList", "apiVersion": "resource.k8s.io/%s", "metadata": {"resourceVersion": "1"}, "items": [%s]}`, version, rule("a"))
		default:
			fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`, rule("b"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
}
