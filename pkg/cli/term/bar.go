// SPDX-License-Identifier: Apache-2.0

package term

import (
	"math"
	"strings"
)

// Bar shows parts of a whole, and a mark.
type Bar struct {
	// Used and Waiting are drawn one after the other.
	Used, Waiting float64
	// Whole is the end of the bar, unless more is used or waits. If everything is zero, the bar is blank.
	Whole float64
	// Mark is the position of a mark. Without a positive number, there is no mark.
	Mark float64
}

// Draw returns a bar with a width in columns.
func (b Bar) Draw(s Style, columns int) string {
	b.Used, b.Waiting = max(0, b.Used), max(0, b.Waiting)
	whole := max(b.Whole, b.Used+b.Waiting, b.Mark)
	if !(whole > 0) || math.IsInf(whole, 0) || columns <= 0 {
		return strings.Repeat(" ", max(0, columns))
	}
	position := func(amount float64) int {
		return min(columns, max(0, int(math.Round(amount/whole*float64(columns)))))
	}
	used := atLeastOne(position(b.Used), b.Used, columns)
	ends := max(used, atLeastOne(position(b.Used+b.Waiting), b.Used+b.Waiting, columns))
	if b.Waiting > 0 && ends == used { // even a little is visible
		if ends < columns {
			ends++
		} else if used > 1 {
			used--
		}
	}
	cells := []rune(strings.Repeat(s.Pick("█", "#"), used) +
		strings.Repeat(s.Pick("▒", "+"), ends-used) + strings.Repeat(s.Pick("░", "."), columns-ends))
	if b.Mark > 0 {
		cells[max(0, position(b.Mark)-1)] = []rune(s.Pick("┃", "|"))[0]
	}
	return string(cells)
}

// atLeastOne gives a positive amount at least one cell.
func atLeastOne(cells int, amount float64, columns int) int {
	if amount > 0 {
		return min(columns, max(1, cells))
	}
	return cells
}
