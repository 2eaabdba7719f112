// SPDX-License-Identifier: Apache-2.0

package term

import (
	"math"
	"slices"
)

// layout returns the visible columns and their widths.
func (t *Table) layout(s Style) (shown, widths []int) {
	for c := range t.Columns {
		if !t.Columns[c].Optional || t.says(c) {
			shown = append(shown, c)
		}
	}
	for {
		widths = t.widths(shown, s.Width)
		drop := t.firstToDrop(shown)
		if s.Width == 0 || total(widths) <= s.Width || drop < 0 {
			return shown, widths
		}
		shown = slices.Delete(shown, drop, drop+1)
	}
}

// widths returns the widths of columns. Columns with bounds share the room that the others leave, up to their upper bound. A last column
// with Cut shrinks to the room that is left.
func (t *Table) widths(shown []int, terminal int) []int {
	widths := make([]int, len(shown))
	room, elastic := terminal-len(gap)*max(0, len(shown)-1), 0
	for i, c := range shown {
		if t.Columns[c].Max > 0 {
			elastic++
			room -= t.Columns[c].Min
			continue
		}
		widths[i] = t.natural(c)
		room -= widths[i]
	}
	if terminal == 0 {
		room = math.MaxInt32
	}
	for i, c := range shown {
		column := &t.Columns[c]
		switch {
		case column.Max > 0:
			widths[i] = min(column.Max, column.Min+max(0, room)/elastic)
		case column.Cut && room < 0:
			widths[i] = max(len(column.Title), min(column.Min, widths[i]), widths[i]+room)
		}
	}
	return widths
}

// natural returns the width of the widest cell of a column.
func (t *Table) natural(c int) int {
	widest := Width(t.Columns[c].Title)
	for _, r := range t.rows {
		if r.line == nil {
			widest = max(widest, Width(r.cells[c].Text))
		}
	}
	return widest
}

// says reports whether any cell of a column has a value to show.
func (t *Table) says(c int) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool {
		if r.line != nil {
			return false
		}
		text := r.cells[c].Text
		return r.cells[c].Draw != nil || text != "" && text != "0" && text != "-"
	})
}

// firstToDrop returns the index of the column that is left out first, or -1 if all must stay.
func (t *Table) firstToDrop(shown []int) int {
	first := -1
	for i, c := range shown {
		if drop := t.Columns[c].Drop; drop > 0 && (first < 0 || drop < t.Columns[shown[first]].Drop) {
			first = i
		}
	}
	return first
}

func total(widths []int) int {
	sum := len(gap) * max(0, len(widths)-1)
	for _, w := range widths {
		sum += w
	}
	return sum
}
