package crossquota

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// parseSelector reads a LabelSelector as the scheduler's YAML parser leaves it.
func parseSelector(value any) (labels.Selector, error) {
	mapping, isMapping := withStringKeys(value).(map[string]any)
	if !isMapping {
		return nil, errors.New("it is no mapping with matchLabels or matchExpressions")
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

// withStringKeys makes nested mappings what encoding/json takes. Volcano reads its configuration
// with yaml.v2, which makes the keys of nested mappings interfaces.
func withStringKeys(value any) any {
	switch v := value.(type) {
	case map[any]any:
		converted := make(map[string]any, len(v))
		for key, nested := range v {
			converted[fmt.Sprint(key)] = withStringKeys(nested)
		}
		return converted
	case map[string]any:
		converted := make(map[string]any, len(v))
		for key, nested := range v {
			converted[key] = withStringKeys(nested)
		}
		return converted
	case []any:
		converted := make([]any, len(v))
		for i, nested := range v {
			converted[i] = withStringKeys(nested)
		}
		return converted
	default:
		return value
	}
}
