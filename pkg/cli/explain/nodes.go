// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// nodes draws one row for all nodes with the same answer. The full answer is below the row.
func (d *drawing) nodes(answers []v1alpha1.NodesAnswer) *term.Table {
	table := &term.Table{Indent: indent}
	for i := range answers {
		answer := &answers[i]
		mark, colour := d.mark(v1alpha1.Failed)
		if answer.Suitable {
			mark, colour = d.mark(v1alpha1.Passed)
		}
		text := nodeNames(answer)
		if len(answer.Free) > 0 {
			text += " (free: " + cli.FormatAmounts(answer.Free) + ")"
		}
		if answer.Message != "" {
			text += ": " + answer.Message
		} else if answer.Suitable {
			text += ": suitable"
		}
		table.Line(mark+" ", strings.Repeat(" ", term.Width(mark)+1), term.Cell{Text: text, Colour: colour})
	}
	return table
}

// nodeNames returns some names and the number of the other nodes.
func nodeNames(answer *v1alpha1.NodesAnswer) string {
	if len(answer.Nodes) == 0 {
		return fmt.Sprintf("%d nodes", answer.Count)
	}
	text := strings.Join(answer.Nodes, ", ")
	if more := int(answer.Count) - len(answer.Nodes); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// supplies draws where the requested devices and cards are.
func (d *drawing) supplies(supplies []v1alpha1.Supply) {
	if len(supplies) == 0 {
		return
	}
	d.title("Devices and cards")
	for i := range supplies {
		s := &supplies[i]
		text := fmt.Sprintf("%s: %d of %d free", s.Dimension, s.Free, s.Total)
		if s.Asked > 0 {
			text += fmt.Sprintf("; a pod asks for %d, and %d of %d nodes have as many free", s.Asked, s.NodesWithEnough, s.Nodes)
		}
		d.Text("  ", text, "")
		if len(s.Places) > 0 {
			d.Text("    ", places(s), "")
		}
	}
}

// places lists the nodes and pools with most free devices or cards.
func places(s *v1alpha1.Supply) string {
	parts := make([]string, len(s.Places))
	for i, place := range s.Places {
		if parts[i] = place.Node; place.Pool != "" {
			parts[i] = "pool " + place.Pool
		}
		parts[i] += fmt.Sprintf(" %d of %d free", place.Free, place.Total)
		if place.Shared > 0 {
			parts[i] += fmt.Sprintf(", %d shared", place.Shared)
		}
		if place.Tainted > 0 {
			parts[i] += fmt.Sprintf(", %d tainted", place.Tainted)
		}
	}
	text := strings.Join(parts, "; ")
	if s.MorePlaces > 0 {
		text += fmt.Sprintf("; and %d more", s.MorePlaces)
	}
	return text
}
