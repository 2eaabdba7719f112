// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/devicequota/devicequota/pkg/lint"
)

// child returns the value of a key of a mapping, or an item of a sequence. It returns nil if there is none.
func child(node *yamlv3.Node, key string) *yamlv3.Node {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			if fmt.Sprint(i) == key {
				return item
			}
		}
	}
	return nil
}

// keyLine returns the line of a key of a mapping.
func keyLine(node *yamlv3.Node, key string) int {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if node.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i].Line
			}
		}
	}
	if item := child(node, key); item != nil {
		return item.Line
	}
	return node.Line
}

// withoutRepeated removes all but the last value of each key of a mapping, as common YAML readers do. It returns the paths of the repeated keys.
func withoutRepeated(node *yamlv3.Node, path lint.Path) []lint.Path {
	var found []lint.Path
	switch node.Kind {
	case yamlv3.MappingNode:
		last := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			last[node.Content[i].Value] = i
		}
		kept := node.Content[:0:0]
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			if last[key] != i && key != "<<" {
				found = append(found, path.At(key))
				continue
			}
			kept = append(kept, node.Content[i], node.Content[i+1])
			found = append(found, withoutRepeated(node.Content[i+1], path.At(key))...)
		}
		node.Content = kept
	case yamlv3.SequenceNode:
		for i, item := range node.Content {
			found = append(found, withoutRepeated(item, path.At(fmt.Sprint(i)))...)
		}
	}
	return slices.CompactFunc(found, func(a, b lint.Path) bool { return slices.Equal(a, b) })
}

// hasAlias reports whether a node refers to an anchor.
func hasAlias(node *yamlv3.Node) bool {
	return node.Kind == yamlv3.AliasNode || slices.ContainsFunc(node.Content, hasAlias)
}
