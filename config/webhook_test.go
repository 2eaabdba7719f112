// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/config"
)

// waitedFor is the webhook that API servers wait for: it looks at rare kinds only, which Volcano's controllers may not be able to read.
const waitedFor = "objects.webhook.devicequota.io"

func TestTheWebhookFailsOpenAndItsConditionsCompileInTheOldestKubernetes(t *testing.T) {
	env, err := environment.MustBaseEnvSet(oldest, true).Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	if env, err = env.Extend(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType)); err != nil {
		t.Fatal(err)
	}
	for _, hook := range webhooks(t) {
		if (*hook.FailurePolicy == admissionv1.Fail || *hook.TimeoutSeconds > 2) != (hook.Name == waitedFor) || *hook.SideEffects != admissionv1.SideEffectClassNone {
			t.Errorf("webhook %s may keep users from their work", hook.Name)
		}
		if len(hook.ClientConfig.CABundle) > 0 {
			t.Errorf("webhook %s has a caBundle, so that each upgrade would remove the one that vc-webhook writes", hook.Name)
		}
		for _, condition := range hook.MatchConditions {
			if _, issues := env.Compile(condition.Expression); issues.Err() != nil {
				t.Errorf("webhook %s, %s: %v", hook.Name, condition.Name, issues.Err())
			}
		}
	}
}

// TestTheWebhookSeesWhatThePolicySees compares the resources, whose versions may differ.
func TestTheWebhookSeesWhatThePolicySees(t *testing.T) {
	seen := map[string]bool{}
	for _, hook := range webhooks(t) {
		if hook.Name == waitedFor {
			continue
		}
		for _, rule := range hook.Rules {
			for _, resource := range rule.Resources {
				seen[rule.APIGroups[0]+"/"+resource] = true
			}
		}
	}
	want := map[string]bool{}
	policies, _ := admission(t)
	for _, policy := range policies {
		if !slices.Contains([]string{"devicequota-cards", "devicequota-queue-cards"}, policy.Name) {
			continue
		}
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, resource := range rule.Resources {
				want[rule.APIGroups[0]+"/"+resource] = true
			}
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-policies of cards +webhook):\n%s", diff)
	}
}

func TestTheWebhookMayChangeOneSecretAndOneConfiguration(t *testing.T) {
	var role rbacv1.Role
	var clusterRole rbacv1.ClusterRole
	find(t, "webhook/rbac.yaml", "Role", &role)
	find(t, "webhook/rbac.yaml", "ClusterRole", &clusterRole)
	own := []string{"get", "update"}
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"vc-webhook-certificates"}, Verbs: own},
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"}, ResourceNames: []string{"vc-webhook"}, Verbs: own},
	}
	if diff := cmp.Diff(want, append(role.Rules, clusterRole.Rules...)); diff != "" {
		t.Errorf("what the webhook may do (-want +got):\n%s", diff)
	}
}

func TestTheManifestsOfTheWebhookFitTogether(t *testing.T) {
	var deployment appsv1.Deployment
	var service corev1.Service
	var secret corev1.Secret
	find(t, "webhook/deployment.yaml", "Deployment", &deployment)
	find(t, "webhook/deployment.yaml", "Service", &service)
	find(t, "webhook/rbac.yaml", "Secret", &secret)
	if len(secret.Data) > 0 {
		t.Error("each upgrade would put back the data of the Secret")
	}
	args := deployment.Spec.Template.Spec.Containers[0].Args
	for _, flag := range []string{"--namespace=" + service.Namespace, "--service-name=" + service.Name, "--secret-name=" + secret.Name, "--webhook-configuration-name=vc-webhook"} {
		if !slices.Contains(args, flag) {
			t.Errorf("the flags %q lack %s", args, flag)
		}
	}
	if diff := cmp.Diff(service.Spec.Selector, deployment.Spec.Template.Labels); diff != "" {
		t.Errorf("the Service selects other pods: %s", diff)
	}
	for _, hook := range webhooks(t) {
		if at := hook.ClientConfig.Service; at.Name != service.Name || at.Namespace != service.Namespace || *at.Port != service.Spec.Ports[0].Port {
			t.Errorf("webhook %s is at %v, and not at the Service", hook.Name, at)
		}
	}
}

func webhooks(t *testing.T) []admissionv1.ValidatingWebhook {
	t.Helper()
	var configuration admissionv1.ValidatingWebhookConfiguration
	find(t, "webhook/webhook.yaml", "ValidatingWebhookConfiguration", &configuration)
	return configuration.Webhooks
}

// find reads the object of a kind that a file has.
func find(t *testing.T, file, kind string, object any) {
	t.Helper()
	data, err := config.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var is metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &is); err != nil {
			t.Fatal(err)
		}
		if is.Kind == kind {
			if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s", file, kind)
}
