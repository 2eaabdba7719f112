// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// pattern is one of the names in gpu-resource-names.
type pattern struct {
	plain corev1.ResourceName
	// expression is nil for plain names.
	expression *regexp.Regexp
}

// parsePattern takes a valid resource name literally, so the dots in nvidia.com/gpu match only dots. Any other text is a regular expression.
func parsePattern(text string) (pattern, error) {
	if isResourceName(text) {
		return pattern{plain: corev1.ResourceName(text)}, nil
	}
	// The text is also compiled alone: an unbalanced parenthesis may match one that is added below.
	if _, err := regexp.Compile(text); err != nil {
		return pattern{}, err
	}
	expression, err := regexp.Compile("^(?:" + text + ")$")
	return pattern{expression: expression}, err
}

func (p pattern) matches(name corev1.ResourceName) bool {
	if p.expression == nil {
		return name == p.plain
	}
	return p.expression.MatchString(string(name))
}

// anyMatches reports whether a list has a positive amount of anything that a pattern matches.
func anyMatches(patterns []pattern, list corev1.ResourceList) bool {
	for name, quantity := range list {
		if quantity.Sign() > 0 && slices.ContainsFunc(patterns, func(p pattern) bool { return p.matches(name) }) {
			return true
		}
	}
	return false
}

func isResourceName(text string) bool {
	return len(validation.IsQualifiedName(text)) == 0
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// checkLimitable returns an error if the plugin cannot limit a resource.
func checkLimitable(text string) error {
	name := corev1.ResourceName(text)
	switch {
	case !isResourceName(text):
		return fmt.Errorf("it is not a resource name")
	case isHugePages(name):
		if _, err := parseQuantity(strings.TrimPrefix(text, corev1.ResourceHugePagesPrefix)); err != nil {
			return fmt.Errorf("it has no page size: write one name for each size, such as hugepages-2Mi")
		}
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage:
	case !strings.Contains(text, "/"):
		return fmt.Errorf("pods do not request it: it is not cpu, memory, ephemeral-storage or hugepages-<size>, and has no domain")
	}
	return nil
}
