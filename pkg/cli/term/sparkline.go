// SPDX-License-Identifier: Apache-2.0

package term

import "strings"

// Sparkline shows how a number changes. A negative value is unknown.
type Sparkline []float64

// Draw returns a line with a width in columns. The last value is at its right end. Unknown values are blanks. If there are more
// values than columns, a column shows the highest of several values.
func (l Sparkline) Draw(s Style, columns int) string {
	levels := []rune(s.Pick("▁▂▃▄▅▆▇█", "_.-:=+*#"))
	highest := 0.0
	for _, value := range l {
		highest = max(highest, value)
	}
	var line strings.Builder
	each := max(1, (len(l)+columns-1)/max(1, columns))
	shown := (len(l) + each - 1) / each
	line.WriteString(strings.Repeat(" ", max(0, columns-shown)))
	for i := range min(shown, columns) {
		end := len(l) - (shown-1-i)*each
		line.WriteRune(level(l[max(0, end-each):end], highest, levels))
	}
	return line.String()
}

// level returns the character of the highest value. Only zero has the lowest character.
func level(values []float64, highest float64, levels []rune) rune {
	value := -1.0
	for _, v := range values {
		value = max(value, v)
	}
	switch {
	case value < 0:
		return ' '
	case value == 0 || highest == 0:
		return levels[0]
	default:
		last := len(levels) - 1
		return levels[min(last, max(1, int(value/highest*float64(last)+0.5)))]
	}
}
