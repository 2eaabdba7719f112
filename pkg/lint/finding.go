// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

// Severity says how bad a finding is.
type Severity string

// Severities, the worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Ref names an object.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns kind/name, or kind/namespace/name.
func (r Ref) String() string {
	if r.Namespace != "" {
		return r.Kind + "/" + r.Namespace + "/" + r.Name
	}
	return r.Kind + "/" + r.Name
}

// Path is a field of an object: names of fields, keys of maps, and indices of items.
type Path []string

// String formats the path as the messages of the API server do.
func (p Path) String() string {
	var text strings.Builder
	for i, segment := range p {
		_, err := strconv.Atoi(segment)
		switch {
		case err == nil || strings.ContainsAny(segment, "./"):
			text.WriteString("[" + segment + "]")
		case i == 0:
			text.WriteString(segment)
		default:
			text.WriteString("." + segment)
		}
	}
	return text.String()
}

// Finding is a mistake, or a setting that is surely not intended.
type Finding struct {
	// Rule is the ID of a Rule.
	Rule     string
	Severity Severity
	Object   Ref
	// Field may be deeper than the existing fields of the object.
	Field   Path
	Message string
}
