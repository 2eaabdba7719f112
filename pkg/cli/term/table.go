// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"strings"
	"unicode"
)

// gap separates two columns.
const gap = "   "

// Column is a column of a table.
type Column struct {
	Title string
	// Right aligns numbers.
	Right bool
	// Optional columns are left out if each of their cells is empty, 0, or -.
	Optional bool
	// Drop is the order in which columns are left out on a narrow terminal, the lowest first. Columns with 0 stay.
	Drop int
	// Cut allows to shorten the cells of the last column to fit the terminal.
	Cut bool
	// Min and Max are the bounds of a column with drawn cells. Other columns are as wide as their cells. Columns are dropped before cells are cut
	// below Min.
	Min, Max int
}

// Cell is one cell of a table.
type Cell struct {
	Text   string
	Colour Colour
	// Draw returns the text of a cell in a column with bounds, for the width of the column.
	Draw func(s Style, columns int) string
}

// Table aligns cells in columns. Lines between its rows can be as wide as the terminal.
type Table struct {
	Columns []Column
	// Indent is the number of blanks before each line.
	Indent int
	rows   []row
}

// row has either cells or a line across all columns.
type row struct {
	cells        []Cell
	line         *Cell
	first, later string
}

// Row adds a row that has one cell for each column.
func (t *Table) Row(cells ...Cell) {
	for i := range cells {
		cells[i].Text = Harmless(cells[i].Text)
	}
	t.rows = append(t.rows, row{cells: cells})
}

// Line adds text across all columns. A text that is too wide for the terminal continues on further lines. First precedes the first
// line, and later precedes the others.
func (t *Table) Line(first, later string, text Cell) {
	lines := strings.Split(text.Text, "\n")
	for i := range lines {
		lines[i] = Harmless(lines[i])
	}
	text.Text = strings.Join(lines, "\n")
	t.rows = append(t.rows, row{line: &text, first: first, later: later})
}

// Harmless returns a text as one line without control characters and characters that change the direction of a text. Users choose some names, such
// as the names of owners.
func Harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

// Write writes the table. A narrow terminal shows fewer columns.
func (t *Table) Write(w io.Writer, s Style) error {
	if s.Width > 0 {
		s.Width = max(1, s.Width-t.Indent)
	}
	shown, widths := t.layout(s)
	var text strings.Builder
	if len(shown) > 0 {
		titles := make([]Cell, len(t.Columns))
		for i := range t.Columns {
			titles[i] = Cell{Text: t.Columns[i].Title, Colour: Bold}
		}
		t.writeRow(&text, s, titles, shown, widths)
	}
	for _, r := range t.rows {
		if r.line == nil {
			t.writeRow(&text, s, r.cells, shown, widths)
			continue
		}
		columns := 0
		if s.Width > 0 {
			columns = max(1, s.Width-max(Width(r.first), Width(r.later)))
		}
		prefix := r.first
		for _, line := range Wrap(r.line.Text, columns) {
			text.WriteString(strings.TrimRight(t.indent()+prefix+s.Paint(r.line.Colour, line), " ") + "\n")
			prefix = r.later
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (t *Table) writeRow(text *strings.Builder, s Style, cells []Cell, shown, widths []int) {
	var line strings.Builder
	line.WriteString(t.indent())
	for i, c := range shown {
		content := cells[c].Text
		if cells[c].Draw != nil {
			content = cells[c].Draw(s, widths[i])
		}
		if t.Columns[c].Cut {
			content = s.cut(content, widths[i])
		}
		blanks, painted := strings.Repeat(" ", max(0, widths[i]-Width(content))), s.Paint(cells[c].Colour, content)
		if i > 0 {
			line.WriteString(gap)
		}
		if t.Columns[c].Right {
			line.WriteString(blanks + painted)
		} else {
			line.WriteString(painted + blanks)
		}
	}
	text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

func (t *Table) indent() string { return strings.Repeat(" ", t.Indent) }
