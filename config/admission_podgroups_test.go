// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// TestAPodGroupDoesNotLeaveTheQueueOfItsNamespace: whoever writes it. A user can make Volcano's controller write it: without the annotation
// scheduling.k8s.io/group-name on the first pod of a ReplicaSet, and with any change of the ReplicaSet, the controller writes a spec without a
// queue, for which the CRD has a default.
func TestAPodGroupDoesNotLeaveTheQueueOfItsNamespace(t *testing.T) {
	for _, c := range []struct {
		name, namespace, before, after string
		want                           bool
	}{
		{"from the queue of the namespace to the default queue", "team", "team", "default", false},
		{"to no queue, which is the default queue", "team", "team", "", false},
		{"from another queue to the default queue", "team", "other", "default", false},
		{"to another queue", "team", "team", "other", true},
		{"nowhere", "team", "team", "team", true},
		{"nowhere, in the default queue", "team", "default", "default", true},
		{"to the default queue, in whose place the namespace names none", "", "team", "default", true},
		{"to the default queue, which the namespace names", "default", "team", "default", true},
	} {
		group := func(queue string) map[string]any {
			spec := map[string]any{}
			if queue != "" {
				spec["queue"] = queue
			}
			return map[string]any{"metadata": map[string]any{"name": "group"}, "spec": spec}
		}
		namespace := map[string]any{"metadata": map[string]any{"name": "ns"}}
		if c.namespace != "" {
			namespace["metadata"] = map[string]any{"name": "ns", "annotations": map[string]any{"scheduling.volcano.sh/queue-name": c.namespace}}
		}
		got := allows(t, "devicequota-podgroup-queues", map[string]any{
			"namespaceObject": namespace, "object": group(c.after), "oldObject": group(c.before), "request": map[string]any{"namespace": "ns"},
		})
		if got != c.want {
			t.Errorf("%s: allowed is %v", c.name, got)
		}
	}
}

// allows reports whether a policy allows a request that is given by the variables of its expressions. A refusal must have a message.
func allows(t *testing.T, name string, given map[string]any) bool {
	t.Helper()
	env, err := environment.MustBaseEnvSet(oldest, true).Env(environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]any{}
	options := []cel.EnvOption{cel.Variable("variables", cel.DynType)}
	activation := map[string]any{"variables": variables}
	for key, value := range given {
		options, activation[key] = append(options, cel.Variable(key, cel.DynType)), value
	}
	if env, err = env.Extend(options...); err != nil {
		t.Fatal(err)
	}
	eval := func(expression string) any {
		t.Helper()
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		result, _, err := program.Eval(activation)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		return result.Value()
	}
	policies, _ := admission(t)
	for _, policy := range policies {
		if policy.Name != name {
			continue
		}
		for _, variable := range policy.Spec.Variables {
			variables[variable.Name] = eval(variable.Expression)
		}
		for _, validation := range policy.Spec.Validations {
			if eval(validation.Expression) == true {
				continue
			}
			if message, is := eval(validation.MessageExpression).(string); !is || message == "" {
				t.Error("the refusal has no message")
			}
			return false
		}
		return true
	}
	t.Fatalf("there is no policy %s", name)
	return false
}
