// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selector selects the objects of a list or a watch.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func newSelector(namespace string, query url.Values) (selector, error) {
	chosen := selector{namespace: namespace}
	var err error
	if chosen.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return chosen, err
	}
	chosen.fields, err = fields.ParseSelector(query.Get("fieldSelector"))
	return chosen, err
}

func (s selector) selects(object *unstructured.Unstructured) bool {
	if s.namespace != "" && object.GetNamespace() != s.namespace || !s.labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	return s.fields.Matches(fieldsOf{object})
}

// fieldsOf reads the fields in selectors.
type fieldsOf struct{ object *unstructured.Unstructured }

// Has implements fields.Fields.
func (f fieldsOf) Has(field string) bool { return f.Get(field) != "" }

// Get implements fields.Fields.
func (f fieldsOf) Get(field string) string {
	var at any = f.object.Object
	for _, name := range strings.Split(field, ".") {
		object, is := at.(map[string]any)
		if !is {
			return ""
		}
		at = object[name]
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}
