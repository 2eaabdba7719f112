// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/config"
)

// oldest is the first version of Kubernetes that serves policies as v1.
var oldest = version.MajorMinor(1, 30)

func TestExpressionsOfPoliciesCompileInTheOldestKubernetes(t *testing.T) {
	policies, _ := admission(t)
	if len(policies) == 0 {
		t.Fatal("no policies")
	}
	variables := []cel.EnvOption{}
	for _, name := range []string{"authorizer", "namespaceObject", "object", "oldObject", "request", "variables"} {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}
	env, err := environment.MustBaseEnvSet(oldest, true).Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	if env, err = env.Extend(variables...); err != nil {
		t.Fatal(err)
	}
	for _, policy := range policies {
		expressions := []string{}
		for _, condition := range policy.Spec.MatchConditions {
			expressions = append(expressions, condition.Expression)
		}
		for _, variable := range policy.Spec.Variables {
			expressions = append(expressions, variable.Expression)
		}
		for _, v := range policy.Spec.Validations {
			expressions = append(expressions, v.Expression)
			if v.MessageExpression != "" {
				expressions = append(expressions, v.MessageExpression)
			}
		}
		for _, expression := range expressions {
			if _, issues := env.Compile(expression); issues.Err() != nil {
				t.Errorf("policy %s, %s: %v", policy.Name, expression, issues.Err())
			}
		}
	}
}

func TestPoliciesAreBoundOnceAndRefuse(t *testing.T) {
	policies, bindings := admission(t)
	bound := map[string]int{}
	for _, binding := range bindings {
		if bound[binding.Spec.PolicyName]++; len(binding.Spec.ValidationActions) != 1 || binding.Spec.ValidationActions[0] != admissionv1.Deny {
			t.Errorf("binding %s has actions %v", binding.Name, binding.Spec.ValidationActions)
		}
	}
	for _, policy := range policies {
		if bound[policy.Name] != 1 {
			t.Errorf("policy %s has %d bindings", policy.Name, bound[policy.Name])
		}
		if policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("policy %s lets pass what it cannot evaluate", policy.Name)
		}
	}
}

// CEL policies cannot share variables.
func TestVariablesThatPoliciesHaveInCommonAreTheSame(t *testing.T) {
	policies, _ := admission(t)
	for _, name := range []string{"schedulerNames", "maxGracePeriod", "space", "name"} {
		first := ""
		for _, policy := range policies {
			for _, variable := range policy.Spec.Variables {
				if variable.Name != name {
					continue
				}
				if first == "" {
					first = variable.Expression
				}
				if variable.Expression != first {
					t.Errorf("policy %s has another %s than the one before: %s", policy.Name, name, variable.Expression)
				}
			}
		}
	}
}

// admission returns the policies of the folder and those for Karmada's API server, and their bindings.
func admission(t testing.TB) (policies []admissionv1.ValidatingAdmissionPolicy, bindings []admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	files, err := fs.Glob(config.FS, "admission/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "dispatcher/admission.yaml") {
		data, err := config.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(data), "\n---\n") {
			var kind metav1.TypeMeta
			var policy admissionv1.ValidatingAdmissionPolicy
			var binding admissionv1.ValidatingAdmissionPolicyBinding
			err := yaml.Unmarshal([]byte(document), &kind)
			switch kind.Kind {
			case "ValidatingAdmissionPolicy":
				err = yaml.UnmarshalStrict([]byte(document), &policy)
				policies = append(policies, policy)
			case "ValidatingAdmissionPolicyBinding":
				err = yaml.UnmarshalStrict([]byte(document), &binding)
				bindings = append(bindings, binding)
			case "ClusterRole", "ClusterRoleBinding":
			default:
				t.Errorf("%s has a %q", file, kind.Kind)
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	return policies, bindings
}
