// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nameMembers replaces the name patterns in HyperNodes by the matching names. These names can then be replaced.
func (s *State) nameMembers() {
	named := map[string][]string{}
	for i := range s.Items {
		named[s.Items[i].GetKind()] = append(named[s.Items[i].GetKind()], s.Items[i].GetName())
	}
	for i := range s.Items {
		if s.Items[i].GetKind() != "HyperNode" {
			continue
		}
		members, _, _ := unstructured.NestedSlice(s.Items[i].Object, "spec", "members")
		var all []any
		for _, member := range members {
			content, _ := member.(map[string]any)
			kind, _, _ := unstructured.NestedString(content, "type")
			pattern, has, _ := unstructured.NestedString(content, "selector", "regexMatch", "pattern")
			if !has {
				all = append(all, member)
				continue
			}
			for _, name := range matching(named[kind], pattern) {
				all = append(all, map[string]any{"type": kind, "selector": map[string]any{"exactMatch": map[string]any{"name": name}}})
			}
		}
		if len(members) > 0 {
			_ = unstructured.SetNestedSlice(s.Items[i].Object, all, "spec", "members") // spec is an object, because it has members
		}
	}
}

func matching(names []string, pattern string) (matched []string) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if expression.MatchString(name) {
			matched = append(matched, name)
		}
	}
	return matched
}
