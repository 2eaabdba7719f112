// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcedefaults "k8s.io/kubernetes/pkg/apis/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/lint"
)

// document is an object in a file.
type document struct {
	file string
	node *yamlv3.Node
	located
}

// unknownFieldError reports fields that the kind of an object does not have. The API server drops these fields.
type unknownFieldError struct{ error }

// decode reads the object. It returns false if the kind is unknown.
func (d *document) decode(namespace string) (known bool, err error) {
	text, err := d.text()
	if err != nil {
		return false, err
	}
	kind := schema.FromAPIVersionAndKind(value(d.node, "apiVersion"), value(d.node, "kind"))
	d.ref = lint.Ref{Kind: kind.Kind}
	if metadata := child(d.node, "metadata"); metadata != nil {
		d.ref.Namespace, d.ref.Name = value(metadata, "namespace"), value(metadata, "name")
	}
	if kind.Kind == "" && child(d.node, "tiers") != nil && !d.ofDispatcher() {
		d.ref = lint.Ref{Kind: "SchedulerConfiguration", Name: d.file}
		d.configuration = &lint.Configuration{Object: d.ref, Text: string(text)}
		return true, nil
	}
	read, found := kindOf(kind)
	if !found {
		return false, nil
	}
	d.object = read.empty()
	if err := yaml.UnmarshalStrict(text, d.object); err != nil {
		if again := yaml.Unmarshal(text, d.object); again != nil {
			return false, fmt.Errorf("%s: %w", d.ref, again)
		}
		_, why, _ := strings.Cut(err.Error(), "json: ")
		err = &unknownFieldError{errors.New(why)}
		d.settle(read, namespace)
		return true, err
	}
	d.settle(read, namespace)
	return true, nil
}

// text returns the document alone. It expands aliases, because their anchors may be elsewhere in the list around the document.
func (d *document) text() ([]byte, error) {
	if hasAlias(d.node) {
		var expanded any
		if err := d.node.Decode(&expanded); err != nil {
			return nil, err
		}
		return yamlv3.Marshal(expanded)
	}
	return yamlv3.Marshal(d.node)
}

// unknownKind returns the kind of a document that lint does not check. It is empty if the document has no kind.
func (d *document) unknownKind() string {
	sameName := func(k kind) bool { return k.Kind == d.ref.Kind }
	switch {
	case d.ofDispatcher():
		return "configuration of vc-dispatcher"
	case slices.ContainsFunc(kinds, sameName):
		return d.ref.Kind + " of " + cmp.Or(value(d.node, "apiVersion"), "no apiVersion")
	default:
		return d.ref.Kind
	}
}

// ofDispatcher reports whether the document is a configuration of vc-dispatcher. It has tiers, too, and fields that a scheduler does not have.
func (d *document) ofDispatcher() bool {
	return d.ref.Kind == "" && slices.ContainsFunc([]string{
		"defaultQueue", "manageWorkloadsWithoutQueue", "schedulerNames", "unschedulableTimeout", "requeueBackoff", "requeueBackoffLimit",
	}, func(field string) bool { return child(d.node, field) != nil })
}

// unnamed reports whether the API server refuses the object because it has no name.
func (d *document) unnamed() bool {
	accessor, err := meta.Accessor(d.object)
	return err == nil && accessor.GetName() == "" && accessor.GetGenerateName() == ""
}

// settle sets the fields that the API server would set, and looks into ConfigMaps.
func (d *document) settle(read *kind, namespace string) {
	accessor, err := meta.Accessor(d.object)
	if err == nil && read.namespaced && accessor.GetNamespace() == "" {
		accessor.SetNamespace(namespace)
		d.ref.Namespace = namespace
	}
	switch object := d.object.(type) {
	case *resourceapi.ResourceClaim:
		resourcedefaults.SetObjectDefaults_ResourceClaim(object)
	case *resourceapi.ResourceClaimTemplate:
		resourcedefaults.SetObjectDefaults_ResourceClaimTemplate(object)
	case *corev1.ConfigMap:
		d.configuration = configurationIn(object)
	}
}

// configurationIn returns the scheduler's configuration in a ConfigMap, or nil if there is none.
func configurationIn(configMap *corev1.ConfigMap) *lint.Configuration {
	for key, text := range configMap.Data {
		var parsed struct {
			Tiers []json.RawMessage `json:"tiers"`
		}
		if strings.HasSuffix(key, ".conf") && (yaml.Unmarshal([]byte(text), &parsed) != nil || len(parsed.Tiers) > 0) {
			return &lint.Configuration{
				Object: lint.Ref{Kind: "ConfigMap", Namespace: configMap.Namespace, Name: configMap.Name}, Field: lint.Path{"data", key}, Text: text,
			}
		}
	}
	return nil
}

func value(node *yamlv3.Node, key string) string {
	if v := child(node, key); v != nil {
		return v.Value
	}
	return ""
}

// line returns the line of a field, or of its nearest parent in the document.
func (d *document) line(field lint.Path) int {
	node, line := d.node, d.node.Line
	for _, key := range field {
		next := child(node, key)
		if next == nil {
			break
		}
		line = keyLine(node, key)
		node = next
	}
	return line
}
