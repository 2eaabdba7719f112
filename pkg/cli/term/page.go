// SPDX-License-Identifier: Apache-2.0

package term

import "io"

// Page writes tables and paragraphs one below the other.
type Page struct {
	Out   io.Writer
	Style Style
	// Err is the first error of Out. Nothing is written after it.
	Err error
}

// Table writes a table.
func (p *Page) Table(table *Table) {
	if p.Err == nil {
		p.Err = table.Write(p.Out, p.Style)
	}
}

// Text writes a paragraph. Its first line begins with an indent, and its other lines with two more blanks.
func (p *Page) Text(indent, text string, colour Colour) {
	table := &Table{}
	table.Line(indent, indent+"  ", Cell{Text: text, Colour: colour})
	p.Table(table)
}
