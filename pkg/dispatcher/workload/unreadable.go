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

// unreadable is the annotation of an object that could not be decoded, and says why. An API server accepts no such name, so that
// only Tolerant writes it.
const unreadable = "this object cannot be decoded"

// Unreadable says why an object that Tolerant has decoded has only its metadata. It is nil if the object has everything.
func Unreadable(object metav1.Object) error {
	if why, is := object.GetAnnotations()[unreadable]; is {
		return errors.New("it cannot be read: " + why)
	}
	return nil
}

// Tolerant returns a decoder that does not fail because of what the schema of a Volcano Job or PodGroup lets users write, and a
// typed object cannot have, such as the quantity "1e1.5". Of such an object, it keeps the metadata, the queue, and the
// PriorityClass. Otherwise one object would keep everybody from reading all others of its kind.
func Tolerant(decoder runtime.Decoder) runtime.Decoder { return tolerant{decoder} }

type tolerant struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d tolerant) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, kind, err := d.Decoder.Decode(data, defaults, into)
	if err == nil || kind == nil {
		return object, kind, err
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // it has what was decoded before the error
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

// metadata decodes what can be read of every object, and notes why that is not everything.
func (d tolerant) metadata(data []byte, kind *schema.GroupVersionKind, into runtime.Object, why error) (runtime.Object, error) {
	var read struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        json.RawMessage `json:"metadata"`
		Spec            struct {
			Queue             string `json:"queue,omitempty"`
			PriorityClassName string `json:"priorityClassName,omitempty"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, err
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
