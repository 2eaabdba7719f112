// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// manifests reads all objects of a file strictly.
func manifests(t *testing.T, file string) []runtime.Object {
	t.Helper()
	text, err := config.FS.ReadFile("dispatcher/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		object := newObject(kind.Kind)
		if object == nil {
			t.Fatalf("%s has an object of kind %q", file, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Errorf("%s, %s: %v", file, kind.Kind, err)
		}
		objects = append(objects, object)
	}
}

func newObject(kind string) runtime.Object {
	for _, object := range []runtime.Object{
		&corev1.Namespace{}, &corev1.ServiceAccount{}, &corev1.Secret{}, &corev1.Service{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{},
		&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		if reflect.TypeOf(object).Elem().Name() == kind {
			return object
		}
	}
	return nil
}

// of returns the objects of one type.
func of[T runtime.Object](objects []runtime.Object) []T {
	var found []T
	for _, o := range objects {
		if typed, is := o.(T); is {
			found = append(found, typed)
		}
	}
	return found
}

func TestManifestsAreValidAndFitTogether(t *testing.T) {
	webhooks, permissions, host := manifests(t, "webhook.yaml"), manifests(t, "rbac.yaml"), manifests(t, "deployment.yaml")
	for _, objects := range [][]runtime.Object{webhooks, permissions, host, manifests(t, "rbac-members.yaml")} {
		for _, object := range objects {
			accessor, err := meta.Accessor(object)
			if err != nil || accessor.GetName() == "" {
				t.Errorf("%T has no name: %v", object, err)
			}
		}
	}
	deployment, service, external := of[*appsv1.Deployment](host)[0], of[*corev1.Service](host)[0], of[*corev1.Service](webhooks)[0]
	pods := labelsOf(deployment.Spec.Template.Labels)
	for what, selector := range map[string]map[string]string{
		"Deployment": deployment.Spec.Selector.MatchLabels, "Service": service.Spec.Selector,
		"PodDisruptionBudget": of[*policyv1.PodDisruptionBudget](host)[0].Spec.Selector.MatchLabels,
	} {
		if labelsOf(selector) != pods {
			t.Errorf("the %s selects %v, and the pods have %v", what, selector, pods)
		}
	}
	if want := service.Name + "." + service.Namespace + ".svc.cluster.local"; external.Spec.ExternalName != want || external.Name != service.Name || external.Namespace != service.Namespace {
		t.Errorf("Karmada's API server looks for %s/%s at %s, want %s", external.Namespace, external.Name, external.Spec.ExternalName, want)
	}
	for path, client := range clientsOf(webhooks) {
		if client.Service == nil || client.Service.Name != service.Name || client.Service.Namespace != service.Namespace || *client.Service.Port != service.Spec.Ports[0].Port {
			t.Errorf("the webhook %s is at %v, and not at the Service", path, client.Service)
		}
	}
	if got, want := slices.Sorted(maps.Keys(clientsOf(webhooks))), []string{BindingsPath, ClaimsPath, WorkloadsPath}; !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(container.Args, func(arg string) bool { return strings.Contains(arg, "="+mount.MountPath+"/") }) {
			t.Errorf("no flag names a file in %s", mount.MountPath)
		}
	}
}

func labelsOf(labels map[string]string) string { return fmt.Sprint(labels) }

func clientsOf(webhooks []runtime.Object) map[string]admissionregistrationv1.WebhookClientConfig {
	return map[string]admissionregistrationv1.WebhookClientConfig{
		*mutating(webhooks).ClientConfig.Service.Path:   mutating(webhooks).ClientConfig,
		*validating(webhooks).ClientConfig.Service.Path: validating(webhooks).ClientConfig,
		*ofClaims(webhooks).ClientConfig.Service.Path:   ofClaims(webhooks).ClientConfig,
	}
}

func mutating(webhooks []runtime.Object) *admissionregistrationv1.MutatingWebhook {
	return &of[*admissionregistrationv1.MutatingWebhookConfiguration](webhooks)[0].Webhooks[0]
}

func validating(webhooks []runtime.Object) *admissionregistrationv1.ValidatingWebhook {
	return &of[*admissionregistrationv1.ValidatingWebhookConfiguration](webhooks)[0].Webhooks[0]
}

func ofClaims(webhooks []runtime.Object) *admissionregistrationv1.ValidatingWebhook {
	return &of[*admissionregistrationv1.ValidatingWebhookConfiguration](webhooks)[0].Webhooks[1]
}

// resources has the resource name of each kind of workload.
var resources = map[schema.GroupVersionKind]string{
	workload.VolcanoJob: "jobs", workload.PodGroup: "podgroups", workload.Deployment: "deployments",
	workload.StatefulSet: "statefulsets", workload.DaemonSet: "daemonsets", workload.Job: "jobs", workload.CronJob: "cronjobs", workload.Pod: "pods",
}

func TestTheManifestsNameEveryKindOfWorkload(t *testing.T) {
	var want []string
	for _, kind := range workload.Kinds {
		if resources[kind] == "" {
			t.Fatalf("add the resource of %s to this test", kind)
		}
		want = append(want, kind.Group+"/"+resources[kind])
	}
	slices.Sort(want)

	webhook := validating(manifests(t, "webhook.yaml"))
	var hooked, granted []string
	for _, rule := range webhook.Rules {
		for _, resource := range rule.Resources {
			if !strings.Contains(resource, "/") {
				hooked = append(hooked, rule.APIGroups[0]+"/"+resource)
			}
		}
	}
	for _, role := range of[*rbacv1.ClusterRole](manifests(t, "rbac.yaml")) {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if role.Name == "vc-dispatcher-workloads" {
					granted = append(granted, rule.APIGroups[0]+"/"+resource)
				}
			}
		}
	}
	for what, got := range map[string][]string{"the webhook's rules": hooked, "ClusterRole vc-dispatcher-workloads": granted} {
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-workload.Kinds +manifest):\n%s", what, diff)
		}
	}
}

// TestUsersPropagateTheKindsThatCanBeCounted: a DaemonSet cannot be counted.
func TestUsersPropagateTheKindsThatCanBeCounted(t *testing.T) {
	text, err := config.FS.ReadFile("dispatcher/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range workload.Kinds {
		listed := bytes.Contains(text, fmt.Appendf(nil, "'%s %s'", kind.GroupVersion(), kind.Kind))
		if want := kind != workload.DaemonSet; listed != want {
			t.Errorf("the policy vc-dispatcher-kinds lists %s: %t, want %t", kind, listed, want)
		}
	}
}

// TestTheDispatcherMayNotDoMore lists everything that the dispatcher may change.
func TestTheDispatcherMayNotDoMore(t *testing.T) {
	var got []string
	read := []string{"get", "list", "watch"}
	for _, role := range of[*rbacv1.ClusterRole](manifests(t, "rbac.yaml")) {
		for _, rule := range role.Rules {
			verbs := slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return slices.Contains(read, v) })
			if len(verbs) > 0 {
				got = append(got, fmt.Sprintf("%s %s", strings.Join(rule.Resources, ","), strings.Join(verbs, ",")))
			}
			if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") {
				t.Errorf("ClusterRole %s allows too much: %v", role.Name, rule)
			}
		}
	}
	want := []string{"resourcebindings patch", "resourcebindings/status patch", "queues patch,create", "queues/status update,patch", "events create,patch", "selfsubjectreviews create"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the dispatcher may change (-want +got):\n%s", diff)
	}
}

func TestWebhooksFailClosed(t *testing.T) {
	webhooks := manifests(t, "webhook.yaml")
	m, v, c := mutating(webhooks), validating(webhooks), ofClaims(webhooks)
	if *c.FailurePolicy != admissionregistrationv1.Fail || *c.MatchPolicy != admissionregistrationv1.Equivalent || *c.SideEffects != admissionregistrationv1.SideEffectClassNone {
		t.Error("the webhook for claims fails open, does not see other versions of the API, or refuses dry runs")
	}
	if *m.FailurePolicy != admissionregistrationv1.Fail || *v.FailurePolicy != admissionregistrationv1.Fail {
		t.Error("a webhook fails open, so that workloads run that were not granted anything")
	}
	if *m.MatchPolicy != admissionregistrationv1.Equivalent || *v.MatchPolicy != admissionregistrationv1.Equivalent {
		t.Error("a webhook does not see other versions of the API")
	}
	if *m.SideEffects != admissionregistrationv1.SideEffectClassNone || *v.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		t.Error("dry runs would be refused")
	}
	if given := time.Duration(*m.TimeoutSeconds) * time.Second; given > AnswerTakes {
		t.Errorf("the API server waits %v for an answer, so that a grant may be stored when the lease of who decided on it is over: want %v at most", given, AnswerTakes)
	}
	for _, resource := range []string{"deployments/scale", "statefulsets/scale", "pods/resize"} {
		if !slices.ContainsFunc(v.Rules, func(r admissionregistrationv1.RuleWithOperations) bool { return slices.Contains(r.Resources, resource) }) {
			t.Errorf("workloads can grow by %s", resource)
		}
	}
}

func init() {
	plugin := framework.Registration{Check: func(framework.Arguments) error { return nil }}
	framework.Register("priority", plugin)
	framework.Register("capacity", plugin)
}

// TestTheConfigurationSaysWhatHoldsWithoutIt checks that config.yaml has the defaults.
func TestTheConfigurationSaysWhatHoldsWithoutIt(t *testing.T) {
	text, err := config.FS.ReadFile("dispatcher/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := framework.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := framework.ParseConfig([]byte("tiers: [{plugins: [{name: priority}, {name: capacity}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-defaults +config.yaml):\n%s", diff)
	}
}
