// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	celplugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// matches evaluates match conditions as the API server does. Objects may be nil.
func matches(t *testing.T, conditions []admissionregistrationv1.MatchCondition, old, object runtime.Object) bool {
	t.Helper()
	accessors := make([]celplugin.ExpressionAccessor, len(conditions))
	for i := range conditions {
		c := matchconditions.MatchCondition(conditions[i])
		accessors[i] = &c
	}
	compiler := celplugin.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	evaluator := compiler.CompileCondition(accessors, celplugin.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if errs := evaluator.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	fail := admissionregistrationv1.Fail
	matcher := matchconditions.NewMatcher(evaluator, &fail, "webhook", "test", "vc-dispatcher")
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	attributes := admission.NewAttributesRecord(object, old, object.GetObjectKind().GroupVersionKind(), "team", "x", schema.GroupVersionResource{}, "", operation, nil, false, nil)
	result := matcher.Match(context.Background(), &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: attributes.GetKind(), VersionedObject: object, VersionedOldObject: old,
	}, nil, nil)
	if result.Error != nil {
		t.Fatal(result.Error)
	}
	return result.Matches
}

func TestBindingsOfOtherObjectsDoNotDependOnTheDispatcher(t *testing.T) {
	conditions := mutating(manifests(t, "webhook.yaml")).MatchConditions
	configMap := []option{ofKind("v1", "ConfigMap"), func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Replicas = 0 }}
	with := func(options ...option) *workv1alpha2.ResourceBinding {
		return newBinding(append(slices.Clone(configMap), options...)...)
	}
	bare := func(rb *workv1alpha2.ResourceBinding) { rb.Annotations, rb.Finalizers, rb.Labels = nil, nil, nil }
	for _, c := range []struct {
		name   string
		object *workv1alpha2.ResourceBinding
		old    *workv1alpha2.ResourceBinding
		want   bool
	}{
		{name: "a ConfigMap", object: with()},
		{name: "a ConfigMap without metadata", object: with(bare), old: with(bare)},
		{name: "a claim template that follows a workload", object: with(ofKind("resource.k8s.io/v1", "ResourceClaimTemplate"), dependent)},
		{name: "an object with replicas", object: with(func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Replicas = 1 }), want: true},
		{name: "an object with components", object: with(func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Components = []workv1alpha2.Component{{Name: "a"}} }), want: true},
		{name: "an object scaled to zero", object: with(func(rb *workv1alpha2.ResourceBinding) {
			rb.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
		}), want: true},
		{name: "a held object", object: with(annotated(binding.HoldAnnotation, waiting)), want: true},
		{name: "a change that somebody makes up", object: with(annotated(binding.ChangeAnnotation, "{}")), want: true},
		{name: "a hold that is removed", old: with(annotated(binding.HoldAnnotation, waiting)), object: with(bare), want: true},
		{name: "a grant that is removed", old: with(annotated(binding.GrantAnnotation, granted)), object: with(), want: true},
		{name: "a finalizer that is removed", old: with(finalizers(binding.Finalizer)), object: with(bare), want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old runtime.Object
			if c.old != nil {
				old = c.old
			}
			if got := matches(t, conditions, old, c.object); got != c.want {
				t.Errorf("the webhook is asked: %v, want %v", got, c.want)
			}
		})
	}
	for _, kind := range workload.Kinds {
		if !matches(t, conditions, nil, with(ofKind(kind.GroupVersion().String(), kind.Kind))) {
			t.Errorf("the webhook is not asked for a %s without pods", kind)
		}
	}
}

func TestTheDispatcherIsAskedWhenNeedsMayDiffer(t *testing.T) {
	conditions := validating(manifests(t, "webhook.yaml")).MatchConditions
	for _, c := range []struct {
		name        string
		old, object runtime.Object
		want        bool
	}{
		{"more replicas", deployment(1), deployment(2), true},
		{"another queue", deployment(1), deployment(1, inTestQueue), true},
		{"a label", deployment(1), deployment(1, withLabel), true},
		{"a status", deployment(1), deployment(1, withStatus), false},
		{"no change", job(1), job(1), false},
		{"kubectl scale", scale(1), scale(2), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := matches(t, conditions, c.old, c.object); got != c.want {
				t.Errorf("the webhook is asked: %v, want %v", got, c.want)
			}
		})
	}
}
