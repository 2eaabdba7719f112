// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestASubjectIsNamedAsForKubectl(t *testing.T) {
	for args, want := range map[string]string{
		"pod a":       "pods a",
		"po/a":        "pods a",
		"Job/a":       "jobs a",
		"vcjob a":     "jobs a",
		"podgroups a": "podgroups a",
		"pg/a":        "podgroups a",
	} {
		resource, name, err := subject(strings.Fields(args))
		if got := resource + " " + name; got != want || err != nil {
			t.Errorf("explain %s: got %s and the error %v, want %s", args, got, err, want)
		}
	}
	for args, want := range map[string]string{
		"a":            `"a": name a kind, too, such as pod/a, job/a, or podgroup/a`,
		"deployment/a": `"deployment" is none of pod, job, and podgroup: the pods of other workloads can be explained`,
		"pod/":         `"" is no name of an object`,
		"pod a/b":      `"a/b" is no name of an object`,
	} {
		if _, _, err := subject(strings.Fields(args)); fmt.Sprint(err) != want {
			t.Errorf("explain %s: got the error %v, want %s", args, err, want)
		}
	}
}

func server(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	const api = "/apis/visibility.devicequota.io/v1alpha1"
	mux.Handle(api+"/namespaces/research/pods/trainer-4/explanation", clitest.Answer(t, clitest.Read[v1alpha1.Explanation](t, "waiting.yaml")))
	mux.Handle(api+"/namespaces/research/workloads", clitest.Answer(t, v1alpha1.WorkloadList{Items: []v1alpha1.Workload{
		{Name: "trainer-1234", Owner: &v1alpha1.Object{Kind: "Job", Name: "trainer"}}, {Name: "alone"},
	}}))
	mux.Handle("/api/v1/namespaces/research/pods", clitest.Answer(t, map[string]any{
		"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{},
		"items": []any{map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{"name": "trainer-4"}}},
	}))
	return mux
}

func TestExplainAsksForTheNamespaceOfTheFlag(t *testing.T) {
	o, stdout, _ := clitest.Options(t, server(t))
	*o.Config.Namespace = "research"
	cmd := New(o)
	cmd.SetArgs([]string{"pod/trainer-4"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if want := "pod/trainer-4 in namespace research waits; its queue is llm\n"; !strings.HasPrefix(stdout.String(), want) {
		t.Errorf("got %s, want it to begin with %s", stdout, want)
	}
}

func TestCompletionOffersKindsAndNames(t *testing.T) {
	o, _, _ := clitest.Options(t, server(t))
	*o.Config.Namespace = "research"
	cmd := New(o)
	cmd.SetContext(t.Context())
	for _, c := range []struct {
		args             []string
		toComplete, want string
	}{
		{nil, "", "job pod podgroup"},
		{nil, "pod", "pod podgroup"},
		{nil, "pod/", "pod/trainer-4"},
		{[]string{"pod"}, "t", "trainer-4"},
		{[]string{"job"}, "", "trainer"},
		{[]string{"podgroup"}, "", "alone trainer-1234"},
		{[]string{"node"}, "", ""},
		{[]string{"pod", "trainer-4"}, "", ""},
	} {
		names, _ := cmd.ValidArgsFunction(cmd, c.args, c.toComplete)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("explain %v %s: offers %q, want %q", c.args, c.toComplete, got, c.want)
		}
	}
}
