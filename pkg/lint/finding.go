// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

// Severity is how bad a finding is.
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

// String returns kind/name, with the namespace before the name if there is one.
func (r Ref) String() string {
	if r.Namespace != "" {
		return r.Kind + "/" + r.Namespace + "/" + r.Name
	}
	return r.Kind + "/" + r.Name
}

// Path is a field of an object: names of fields, keys of maps, and numbers of items.
type Path []string

// String writes the path as in messages of the API server.
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

// Finding is something that is wrong, or surely not meant.
type Finding struct {
	// Rule is the ID of a Rule.
	Rule     string
	Severity Severity
	Object   Ref
	// Field may be deeper than what the object has.
	Field   Path
	Message string
}
