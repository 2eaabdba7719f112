// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unreadable is the annotation that says why an object could not be decoded. An API server rejects such a name, so only Tolerant sets it.
const unreadable = "this object cannot be decoded"

// Unreadable says why Tolerant could decode only the metadata of an object. It is nil for a complete object.
func Unreadable(object metav1.Object) error {
	if why, is := object.GetAnnotations()[unreadable]; is {
		return errors.New("it cannot be read: " + why)
	}
	return nil
}

// Tolerant returns a decoder that accepts Volcano Jobs and PodGroups with values that fit only the schema and not the Go types, such as
// the quantity "1e1.5". It keeps the metadata, the queue, the PriorityClass, and the names of the tasks of the object. Otherwise, one object would make all
// others of its kind unreadable.
func Tolerant(decoder runtime.Decoder) runtime.Decoder { return tolerant{decoder} }

type tolerant struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d tolerant) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	var object runtime.Object
	kind, err := tooManyTasks(data, defaults)
	if err == nil {
		object, kind, err = d.Decoder.Decode(data, defaults, into)
	}
	if err == nil || kind == nil {
		return object, kind, err
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // it has the fields that were decoded before the error
	}
	item, isList := strings.CutSuffix(kind.Kind, "List")
	switch itemKind := kind.GroupVersion().WithKind(item); {
	case !slices.Contains([]schema.GroupVersionKind{VolcanoJob, PodGroup}, itemKind):
	case isList:
		object, err = d.list(data, itemKind, into)
	default:
		object, err = d.metadata(data, kind, into, err)
	}
	return object, kind, err
}

// list decodes the items of a list one by one.
func (d tolerant) list(data []byte, kind schema.GroupVersionKind, into runtime.Object) (runtime.Object, error) {
	var read struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        json.RawMessage   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, err
	}
	items := make([]runtime.Object, 0, len(read.Items))
	for _, raw := range read.Items {
		item, _, err := d.Decode(raw, &kind, nil)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	read.Items = nil
	empty, err := json.Marshal(read)
	if err != nil {
		return nil, err
	}
	listKind := kind.GroupVersion().WithKind(kind.Kind + "List")
	list, _, err := d.Decoder.Decode(empty, &listKind, into)
	if err != nil {
		return nil, err
	}
	return list, apimeta.SetList(list, items)
}

// metadata decodes the parts that every object has, and notes why the rest is missing.
func (d tolerant) metadata(data []byte, kind *schema.GroupVersionKind, into runtime.Object, why error) (runtime.Object, error) {
	var read struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        json.RawMessage `json:"metadata"`
		Spec            struct {
			Queue             string `json:"queue,omitempty"`
			PriorityClassName string `json:"priorityClassName,omitempty"`
			Tasks             []struct {
				Name string `json:"name,omitempty"`
			} `json:"tasks,omitempty"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, err
	}
	if len(read.Spec.Tasks) > maxTasks {
		read.Spec.Tasks = nil
	}
	rest, err := json.Marshal(read)
	if err != nil {
		return nil, err
	}
	object, _, err := d.Decoder.Decode(rest, kind, into)
	if err != nil {
		return nil, err
	}
	accessor, err := apimeta.Accessor(object)
	if err != nil {
		return nil, err
	}
	annotations := accessor.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[unreadable] = why.Error()
	accessor.SetAnnotations(annotations)
	return object, nil
}
