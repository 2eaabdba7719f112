// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// parseSelector converts a LabelSelector from the form that the scheduler's YAML parser returns.
func parseSelector(value any) (labels.Selector, error) {
	converted, err := withStringKeys(value)
	if err != nil {
		return nil, err
	}
	mapping, isMapping := converted.(map[string]any)
	if !isMapping {
		return nil, errors.New("it is not a mapping with matchLabels or matchExpressions")
	}
	if err := labelsAsText(mapping); err != nil {
		return nil, err
	}
	text, err := json.Marshal(mapping)
	if err != nil {
		return nil, err
	}
	var selector metav1.LabelSelector
	if err := yaml.UnmarshalStrict(text, &selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

// labelsAsText converts values to strings that YAML parses as numbers or booleans. Values of labels are
// strings, but users often leave out the quotes.
func labelsAsText(selector map[string]any) error {
	if wanted, found := selector["matchLabels"].(map[string]any); found {
		for key, value := range wanted {
			text, err := labelText(value, true)
			if err != nil {
				return fmt.Errorf("label %s %w", key, err)
			}
			wanted[key] = text
		}
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for _, expression := range expressions {
		e, _ := expression.(map[string]any)
		values, _ := e["values"].([]any)
		for i, value := range values {
			text, err := labelText(value, e["operator"] == string(metav1.LabelSelectorOpIn))
			if err != nil {
				return fmt.Errorf("label %v %w", e["key"], err)
			}
			values[i] = text
		}
	}
	return nil
}

// labelText returns the text of a value in YAML. YAML parses yes and on as true, too. If the value is
// wanted, "true" then selects too few pods, which is safe. If it is excluded, "true" would select too
// many, which is an error. The text of decimals and dates is lost.
func labelText(value any, wanted bool) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case int, int64, uint64:
		return fmt.Sprint(v), nil
	case bool:
		if wanted {
			return strconv.FormatBool(v), nil
		}
	}
	return "", fmt.Errorf("has the value %v: write it in quotes", value)
}

// withStringKeys converts nested mappings for encoding/json. Volcano parses its configuration with
// yaml.v2, where the keys of nested mappings are interfaces.
func withStringKeys(value any) (any, error) {
	switch v := value.(type) {
	case map[any]any:
		converted := make(map[string]any, len(v))
		for key, nested := range v {
			text, err := labelText(key, false) // YAML parses "on" as a boolean
			if err != nil {
				return nil, fmt.Errorf("a key %w", err)
			}
			if converted[text], err = withStringKeys(nested); err != nil {
				return nil, err
			}
		}
		return converted, nil
	case []any:
		converted := make([]any, len(v))
		for i, nested := range v {
			var err error
			if converted[i], err = withStringKeys(nested); err != nil {
				return nil, err
			}
		}
		return converted, nil
	default:
		return value, nil
	}
}
