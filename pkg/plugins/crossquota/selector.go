package crossquota

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// parseSelector reads a LabelSelector as the scheduler's YAML parser leaves it.
func parseSelector(value any) (labels.Selector, error) {
	converted, err := withStringKeys(value)
	if err != nil {
		return nil, err
	}
	mapping, isMapping := converted.(map[string]any)
	if !isMapping {
		return nil, errors.New("it is no mapping with matchLabels or matchExpressions")
	}
	if err := labelsAsText(mapping); err != nil {
		return nil, err
	}
	text, err := json.Marshal(mapping)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var selector metav1.LabelSelector
	if err := decoder.Decode(&selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

// labelsAsText makes strings of values that YAML takes for numbers or truth values. The values of
// labels are strings, and people leave out the quotes.
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

// labelText is what a value was written as, as far as YAML lets one know. It takes yes and on for
// true: to want true instead selects too few pods, but to exclude true instead would select too
// many. What decimals and dates looked like, cannot be known.
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

// withStringKeys makes nested mappings what encoding/json takes. Volcano reads its configuration
// with yaml.v2, which makes the keys of nested mappings interfaces.
func withStringKeys(value any) (any, error) {
	switch v := value.(type) {
	case map[any]any:
		converted := make(map[string]any, len(v))
		for key, nested := range v {
			text, err := labelText(key, false) // "on" is a truth value
			if err != nil {
				return nil, fmt.Errorf("a key %w", err)
			}
			if converted[text], err = withStringKeys(nested); err != nil {
				return nil, err
			}
		}
		return converted, nil
	case map[string]any:
		converted := make(map[string]any, len(v))
		for key, nested := range v {
			var err error
			if converted[key], err = withStringKeys(nested); err != nil {
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
