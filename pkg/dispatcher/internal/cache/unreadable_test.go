// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	volcanoinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// jobOf and groupOf return answers of the API server. It checks only the schema of the CRDs.
func jobOf(name, cpu string) string {
	return fmt.Sprintf(`{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"namespace": "team", "name": %q, "uid": %q, "resourceVersion": "5"},
		"spec": {"queue": "research", "tasks": [{"name": "t", "replicas": 2, "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": %q}}}]}}}]}}`,
		name, name, cpu)
}

func groupOf(name, cpu string) string {
	return fmt.Sprintf(`{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"namespace": "team", "name": %q, "uid": %q},
		"spec": {"queue": "research", "minResources": {"cpu": %q}}}`, name, name, cpu)
}

// answers has the objects that an API server lists and watches, by path.
var answers = map[string]struct{ kind, listed, watched string }{
	"/apis/batch.volcano.sh/v1alpha1/jobs":                     {"batch.volcano.sh/v1alpha1 Job", jobOf("bad", "1e1.5") + "," + jobOf("good", "1"), jobOf("later", "1e1.5")},
	"/apis/scheduling.volcano.sh/v1beta1/podgroups":            {"scheduling.volcano.sh/v1beta1 PodGroup", groupOf("bad", "1e1.5") + "," + groupOf("good", "1"), groupOf("later", "1e1.5")},
	"/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs/bad": {listed: jobOf("bad", "1e1.5")},
}

func serveUnreadable(w http.ResponseWriter, r *http.Request) {
	answer, known := answers[r.URL.Path]
	w.Header().Set("Content-Type", "application/json")
	version, kind, isList := strings.Cut(answer.kind, " ")
	switch {
	case !known:
		http.NotFound(w, r)
	case !isList:
		_, _ = fmt.Fprint(w, answer.listed)
	case r.URL.Query().Get("watch") == "":
		_, _ = fmt.Fprintf(w, `{"apiVersion": %q, "kind": "%sList", "metadata": {"resourceVersion": "7"}, "items": [%s]}`, version, kind, answer.listed)
	default:
		_, _ = fmt.Fprintf(w, `{"type": "ADDED", "object": %s}`+"\n", answer.watched)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// TestAnUnreadableWorkloadConcernsNobodyElse: Volcano's CRDs accept quantities that Kubernetes' types cannot represent.
func TestAnUnreadableWorkloadConcernsNobodyElse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serveUnreadable))
	defer server.Close()
	clients, err := NewClients(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	volcano := volcanoinformers.NewSharedInformerFactory(clients.Volcano, 0)
	kinds := newObjects(kindsOf(clients, informers.NewSharedInformerFactory(clients.Kubernetes, 0), volcano))
	volcano.Start(ctx.Done())
	defer volcano.Shutdown()
	defer cancel()
	for _, kind := range []string{"batch.volcano.sh/v1alpha1 Job", "scheduling.volcano.sh/v1beta1 PodGroup"} {
		version, kind, _ := strings.Cut(kind, " ")
		for name, want := range map[string]string{"good": "", "bad": "quantities must match", "later": "quantities must match"} {
			ref := &workv1alpha2.ObjectReference{APIVersion: version, Kind: kind, Namespace: "team", Name: name, UID: types.UID(name)}
			err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
				_, _, err := kinds.shown(ref)
				return err == nil, nil
			})
			if err != nil {
				t.Errorf("%s %s is not shown: %v", kind, name, err)
				continue
			}
			object, _, _ := kinds.shown(ref)
			template, err := workload.Of(object, nil)
			if template == nil || template.Queue != "research" || string(template.UID) != name {
				t.Errorf("%s %s: got %+v, want its queue and UID", kind, name, template)
			}
			if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
				t.Errorf("%s %s: got error %v, want %q", kind, name, err, want)
			}
		}
	}
	read, err := kinds.kinds[workload.VolcanoJob].get(ctx, "team", "bad")
	if err != nil {
		t.Fatal(err)
	}
	if template, err := workload.Of(read, nil); template == nil || err == nil {
		t.Errorf("got %v, %v: want a template, and why the job is unreadable", template, err)
	}
}
