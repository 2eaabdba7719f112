// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// mayTell are the fields of an explanation without data about others' objects, or with data that the asker may know in any case. A new field
// must be added here or hidden.
var mayTell = map[string]bool{
	"TypeMeta.Kind": true, "TypeMeta.APIVersion": true,
	"Snapshot.Session": true, "Snapshot.Scheduler": true, "Snapshot.Version": true, "Snapshot.Incomplete": true,
	"Subject.Kind": true, "Subject.Namespace": true, "Subject.Name": true, "Subject.UID": true,
	"Queue": true, "State": true, "Node": true,
	"Cause.Reason": true, "Cause.Queue": true, "Cause.Dimension.Kind": true, "Cause.Dimension.Name": true, "Cause.Dimension.Capacity": true,
	"Cause.Requested": true, "Cause.WouldBe": true, "Cause.Limit": true,
	"Checks.Name": true, "Checks.Result": true,
	"Asked.Dimension.Kind": true, "Asked.Dimension.Name": true, "Asked.Dimension.Capacity": true,
	"Charged.Dimension.Kind": true, "Charged.Dimension.Name": true, "Charged.Dimension.Capacity": true,
	// Its own devices.
	"LastEviction.Pod": true, // one of its own pods
	"Devices.Claim":    true, "Devices.Driver": true, "Devices.Pool": true, "Devices.Device": true,
	"Standings.Queue": true, "Standings.Figures.Dimension.Kind": true, "Standings.Figures.Dimension.Name": true,
	"Standings.Figures.Dimension.Capacity": true, "Standings.Figures.LimitedBy": true,
	"Nodes.Nodes": true, "Nodes.Free.Dimension.Kind": true, "Nodes.Free.Dimension.Name": true, "Nodes.Free.Dimension.Capacity": true,
	"Supplies.Dimension.Kind": true, "Supplies.Dimension.Name": true, "Supplies.Dimension.Capacity": true,
	"Supplies.Places.Node": true, "Supplies.Places.Pool": true,
	"Eviction.Rule": true,
	// Its own pods.
	"Pods.Example.Kind": true, "Pods.Example.Namespace": true, "Pods.Example.Name": true, "Pods.Example.UID": true, "Pods.State": true,
	"Pods.Cause.Reason": true, "Pods.Cause.Queue": true, "Pods.Cause.Dimension.Kind": true, "Pods.Cause.Dimension.Name": true,
	"Pods.Cause.Dimension.Capacity": true, "Pods.Cause.Requested": true, "Pods.Cause.WouldBe": true, "Pods.Cause.Limit": true,
	"Pods.Checks.Name": true, "Pods.Checks.Result": true,
}

func init() {
	for _, holders := range []string{"Holders", "Eviction.Victims"} {
		for _, field := range []string{
			"Object.Kind", "Object.Namespace", "Queue", "Node", "State",
			"Charged.Dimension.Kind", "Charged.Dimension.Name", "Charged.Dimension.Capacity",
			"Shares.Dimension.Kind", "Shares.Dimension.Name", "Shares.Dimension.Capacity",
		} {
			mayTell[holders+"."+field] = true
		}
	}
}

// fill sets each string of an explanation: to the path of the field if the field is in mayTell, otherwise to a secret.
func fill(t *testing.T, value reflect.Value, path string) {
	t.Helper()
	switch value.Kind() {
	case reflect.String:
		switch {
		case strings.HasSuffix(path, "Object.Namespace"):
			value.SetString("team-b")
		case mayTell[path]:
			value.SetString("may-tell")
		case strings.HasSuffix(path, "Message"):
			value.SetString("Waits for team-b/secret-1, PodGroup team-b/secret-2: (team-b/secret_3.). Then for ResourceClaim team-b/secret-4, 'team-b/secret-5'.")
		default:
			value.SetString("secret")
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(t, value.Elem(), path)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(t, value.Index(0), path)
	case reflect.Struct:
		if strings.HasPrefix(value.Type().PkgPath(), "k8s.io/") && value.Type() != reflect.TypeFor[metav1.TypeMeta]() {
			return // times and quantities
		}
		for i := range value.NumField() {
			field := value.Type().Field(i)
			name := strings.TrimPrefix(path+"."+field.Name, ".")
			fill(t, value.Field(i), name)
		}
	case reflect.Bool, reflect.Int32, reflect.Int64:
	default:
		t.Fatalf("%s: a test is missing for %s", path, value.Kind())
	}
}

func TestNoFieldOfAnExplanationTellsNamesOfOthers(t *testing.T) {
	var full v1alpha1.Explanation
	fill(t, reflect.ValueOf(&full).Elem(), "")
	f := newFixture(t)
	f.cluster.allow("alice get pods/explanation team-a", "alice get holders team-a",
		"bob get pods/explanation team-a", "bob get holders team-a", "bob get holders team-b", "carol get pods/explanation team-a", "carol get holders")
	f.publisher.Publish(published())
	f.session(func(*visibility.Question) (*v1alpha1.Explanation, error) { return &full, nil })

	tell := func(user string) string {
		_, body := f.ask(token(user), versionPath+"/namespaces/team-a/pods/mine/explanation")
		return body
	}
	if body := tell("alice"); strings.Contains(body, "secret") || !strings.Contains(body, "team-b/(hidden), PodGroup team-b/(hidden)") {
		t.Errorf("somebody without rights in team-b learns: %s", body)
	}
	var shown v1alpha1.Explanation
	if err := json.Unmarshal([]byte(tell("alice")), &shown); err != nil {
		t.Fatal(err)
	}
	if h := shown.Holders[0]; h.Namespace != "team-b" || h.Queue != "may-tell" || len(h.Charged) != 1 || h.Name+h.UID+h.Workload != "" || h.Devices != nil {
		t.Errorf("what is left of a holder: %+v", h)
	}
	for _, user := range []string{"bob", "carol"} {
		if body := tell(user); strings.Contains(body, "hidden") || !strings.Contains(body, "team-b/secret-5") {
			t.Errorf("%s may get holders in team-b, and learns: %s", user, body)
		}
	}
	if full.Holders[0].Name != "secret" {
		t.Error("what the session has told is changed")
	}
}

func TestMessagesOfListsTellNoNamesOfOthers(t *testing.T) {
	const message = "ResourceClaim team-a/mine cannot be used: device gpu.example.com/node-1/gpu-0 is also held by ResourceClaim team-b/secret"
	f := newFixture(t)
	f.cluster.allow("alice list queues", "alice list workloads team-a", "alice get holders team-a")
	f.cluster.allow(everything...)
	all := published()
	all.Queues[0].Problems = []v1alpha1.Problem{{Message: message}}
	all.Workloads[0].Waits = &v1alpha1.Refusal{Message: message}
	f.publisher.Publish(all)
	for _, path := range []string{"/queues", "/namespaces/team-a/workloads"} {
		_, shown := f.ask(token("alice"), versionPath+path)
		if want := strings.ReplaceAll(message, "team-b/secret", "team-b/(hidden)"); !strings.Contains(shown, want) {
			t.Errorf("%s: %s", path, shown)
		}
		if _, shown = f.ask(token("root"), versionPath+path); !strings.Contains(shown, message) {
			t.Errorf("%s, who may see all: %s", path, shown)
		}
	}
}

func TestWhatLooksLikeANameIsShown(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow("alice list queues")
	messages := []string{
		"Queue <team> has insufficient <gpu/memory> quota: requested <40Gi>",
		"the pods need nvidia.com/gpu.product, see volcano.sh/preemptable, on gpu.example.com/node-1/gpu-0",
	}
	all := published()
	all.Queues[0].Figures = []v1alpha1.Figures{{Dimension: v1alpha1.Dimension{Kind: v1alpha1.DeviceCapacity, Name: "gpu", Capacity: "memory"}}}
	for _, message := range messages {
		all.Queues[0].Problems = append(all.Queues[0].Problems, v1alpha1.Problem{Message: message})
	}
	f.publisher.Publish(all)
	var shown []string
	for _, problem := range told[v1alpha1.QueueList](f, token("alice"), "/queues").Items[0].Problems {
		shown = append(shown, problem.Message)
	}
	if fmt.Sprint(shown) != fmt.Sprint(messages) {
		t.Errorf("%q", shown)
	}
}

func TestNamesOfPodsWithoutPodGroupAreHidden(t *testing.T) {
	v := &viewer{namespaces: map[string]bool{"b": false}, texts: map[string]string{}, dimensions: map[string]bool{}}
	shown := v.workloads([]v1alpha1.Workload{{Namespace: "b", UID: "u", Owner: &v1alpha1.Object{Kind: "Pod", Namespace: "b", Name: "project-7f9c", UID: "u"},
		Waits: &v1alpha1.Refusal{Message: "PodGroup b/secret does not exist"}}})
	if owner := shown[0].Owner; owner.Name != "" || owner.UID != "" {
		t.Errorf("the owner is %+v", owner)
	}
}
