// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

var separator = regexp.MustCompile(`(?m)^---$`)

// inForce matches the scheduler's log entry after it has read its configuration.
var inForce = regexp.MustCompile(`The configuration is in force`)

// documents splits YAML into its documents.
func documents(text string) []string { return separator.Split(text, -1) }

func unmarshal(text string, into any) error { return yaml.Unmarshal([]byte(text), into) }

// at follows keys of maps and indices of lists. It returns nil if a step is missing.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, _ := value.(object)
			value = fields[step]
		case int:
			items, _ := value.([]any)
			if step >= len(items) {
				return nil
			}
			value = items[step]
		}
	}
	return value
}

func texts(list any) (all []string) {
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}
