// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	visibilityv1alpha1 "github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

// objects are a cluster in which each kind matters for a rule.
const objects = `
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: lost}, spec: {parent: gone}}
- {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: team, annotations: {volcano.sh/card.quota: '{"NVIDIA-H100": 8}'}}, spec: {dra: {capability: {gpu: {count: 1}, none: {count: 1}}, deserved: {gpu: {count: 1}}}}}
- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "a.example.com"'}}]}}
- {apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1}, spec: {driver: a.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}, {name: d1}]}}
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {nvidia.com/gpu.product: NVIDIA-H100}}, status: {allocatable: {cpu: 8, nvidia.com/gpu: 8}}}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 5}
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared, namespace: default}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: pod, namespace: default, annotations: {scheduling.volcano.sh/queue-name: team, volcano.sh/card.name: NVIDIA-H100}}
  spec:
    schedulerName: volcano
    priorityClassName: high
    containers: [{name: main, resources: {requests: {cpu: 1, nvidia.com/gpu: 1}}}]
    resourceClaims: [{name: a, resourceClaimName: shared}]
- apiVersion: batch.volcano.sh/v1alpha1
  kind: Job
  metadata: {name: job, namespace: default}
  spec:
    queue: team
    minAvailable: 1
    tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: main}], resourceClaims: [{name: a, resourceClaimTemplateName: one}]}}}]
`

// configuration is the active configuration of the cluster's scheduler.
const configuration = `
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: capacity, enableHierarchy: true}, {name: predicates, arguments: {predicate.DynamicResourceAllocationEnable: true}}]
`

// apiServer serves all objects but those of a forbidden kind.
func apiServer(t *testing.T, forbidden func(*kind) bool) http.Handler {
	t.Helper()
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(objects), &all); err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/apis/visibility.devicequota.io/v1alpha1/configuration" {
			_ = json.NewEncoder(w).Encode(visibilityv1alpha1.Configuration{Text: configuration})
			return
		}
		at := slices.IndexFunc(kinds, func(k kind) bool {
			return strings.Contains(r.URL.Path, k.GroupVersion().String()+"/") && strings.HasSuffix(r.URL.Path, "/"+k.resource)
		})
		if at < 0 {
			http.NotFound(w, r)
			return
		}
		kind := &kinds[at]
		if forbidden(kind) {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
				Message: fmt.Sprintf("%s is forbidden: User \"ann\" cannot list resource %q in API group %q", kind.groupResource(), kind.resource, kind.Group),
			})
			return
		}
		items := []any{}
		for _, object := range all {
			if schema.FromAPIVersionAndKind(object["apiVersion"].(string), object["kind"].(string)) == kind.GroupVersionKind {
				items = append(items, object)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List", "metadata": map[string]any{}, "items": items})
	})
}

// lintServer returns the findings about a cluster as "rule object", the other output, and the exit code.
func lintServer(t *testing.T, server http.Handler, args ...string) (found []string, told string, code int) {
	t.Helper()
	o, out, stderr := clitest.Options(t, server)
	cmd := New(o)
	cmd.SilenceUsage = true
	cmd.SetArgs(append(args, "-o", "json"))
	cmd.SetErr(stderr)
	if err := cmd.Execute(); err != nil {
		code = err.(*cli.ExitError).Code
	}
	var r report
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range r.Findings {
		found = append(found, f.Rule+" "+f.Object.String())
	}
	return found, stderr.String(), code
}

func TestWhatMayNotBeReadIsSaidAndNothingIsGuessed(t *testing.T) {
	whole, told, code := lintServer(t, apiServer(t, func(*kind) bool { return false }))
	if want := []string{"QueueMisplaced Queue/lost", "UnknownDeviceClass Queue/team"}; !slices.Equal(whole, want) || told != "" || code != exitFindings {
		t.Fatalf("exit code %d: %v, want %v\n%s", code, whole, want, told)
	}
	for i := range kinds {
		forbidden := &kinds[i]
		if forbidden.Kind == "ConfigMap" { // only read in files
			continue
		}
		found, told, code := lintServer(t, apiServer(t, func(k *kind) bool { return k == forbidden }))
		want := fmt.Sprintf("Cannot read %s, so that rules that need them are skipped: %s is forbidden", forbidden.groupResource(), forbidden.groupResource())
		if !strings.HasPrefix(told, want) || strings.Count(told, "\n") != 1 {
			t.Errorf("without %s: it says %q", forbidden.groupResource(), told)
		}
		for _, f := range found {
			if !slices.Contains(whole, f) {
				t.Errorf("without %s: guesses %s", forbidden.groupResource(), f)
			}
		}
		if want := map[bool]int{true: exitFindings, false: cli.ExitPartly}[len(found) > 0]; code != want {
			t.Errorf("without %s: exit code %d with the findings %v", forbidden.groupResource(), code, found)
		}
		if forbidden.Kind != "Queue" && !slices.Contains(found, "QueueMisplaced Queue/lost") {
			t.Errorf("without %s: the other rules find only %v", forbidden.groupResource(), found)
		}
	}
}

func TestACommandThatMayReadNothingCannotLook(t *testing.T) {
	_, told, code := lintServer(t, apiServer(t, func(*kind) bool { return true }))
	if code != exitUsage || strings.Count(told, "Cannot read ") != len(kinds)-1 { // ConfigMaps are only read in files
		t.Errorf("exit code %d, it says\n%s", code, told)
	}
}

func TestAClusterThatDoesNotAnswerCannotBeLookedAt(t *testing.T) {
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	if found, _, code := lintServer(t, broken); code != exitUsage || found != nil {
		t.Errorf("exit code %d with the findings %v", code, found)
	}
}

// TestCardsAreNotMissingOnNodesThatAreNotKnown checks a pod, and a job that asks for cards before its pods exist.
func TestCardsAreNotMissingOnNodesThatAreNotKnown(t *testing.T) {
	job := `---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: job}
spec:
  queue: team
  minAvailable: 1
  tasks: [{name: t, replicas: 1, template: {metadata: {annotations: {volcano.sh/card.name: NVIDIA-H100}}, spec: {containers: [{name: main, resources: {requests: {nvidia.com/gpu: 1}}}]}}}]
`
	if found := found(t, queue("team", "")+job); len(found) != 0 {
		t.Errorf("without nodes: %+v", found)
	}
	node := "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 8}}\n"
	if found := found(t, queue("team", "")+job+node); !slices.ContainsFunc(found, func(f finding) bool { return f.Rule == "CardOfNoNode" }) {
		t.Errorf("with a node without cards: %+v", found)
	}
}
