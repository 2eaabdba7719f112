// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned/scheme"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/simulation/internal/apiserver"
)

// Check returns an error for an object that a simulation cannot read: its kind or version is unknown, or a field has another type. An API server
// would have refused the latter, and informers would try to read it forever.
func Check(object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	if isReplicated(object) {
		_, _, err := PodsOf(object)
		return err
	}
	of := func(r apiserver.Resource) bool { return r.Group == gvk.Group && r.Kind == gvk.Kind }
	at := slices.IndexFunc(apiserver.Resources, of)
	if at < 0 {
		return fmt.Errorf("%s: the scheduler does not read objects of this kind, and does not know which pods become of it; write the pods, "+
			"a Job of Volcano, or a Deployment, ReplicaSet, StatefulSet, or Job of Kubernetes", nameOf(object))
	}
	if version := apiserver.Resources[at].Version; version != gvk.Version {
		return fmt.Errorf("%s: the scheduler reads it as %s", nameOf(object), apiserver.Resources[at].GroupVersion())
	}
	typed, err := typeOf(object)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed)
	}
	if job, is := typed.(*batchv1alpha1.Job); is && err == nil {
		err = checkTasks(job)
	}
	if err != nil {
		return unreadable(object, err)
	}
	return nil
}

// UnknownFields returns the fields of an object that its kind does not have. An API server refuses or drops them.
func UnknownFields(object *unstructured.Unstructured) (fields []string) {
	typed, err := typeOf(object)
	if err != nil {
		return nil // Check reports this
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true)
	if strict, is := runtime.AsStrictDecodingError(err); is {
		for _, unknown := range strict.Errors() {
			fields = append(fields, unknown.Error())
		}
	}
	return fields
}

// typeOf returns an empty object of the type that the scheduler uses for an object.
func typeOf(object *unstructured.Unstructured) (runtime.Object, error) {
	gvk := object.GroupVersionKind()
	if gvk.Kind == "Queue" {
		return &schedulingv1beta1.Queue{}, nil
	}
	if volcano.Scheme.Recognizes(gvk) {
		return volcano.Scheme.New(gvk)
	}
	return scheme.Scheme.New(gvk)
}

// nameOf names an object with its version. The namespace may be missing, and several groups may have the kind.
func nameOf(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %s of %s", object.GetKind(), name, object.GetAPIVersion())
}

func unreadable(object *unstructured.Unstructured, err error) error {
	return fmt.Errorf("%s is not valid: %w", nameOf(object), err)
}
