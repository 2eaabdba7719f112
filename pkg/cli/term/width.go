// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns of a terminal a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Cc) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// cut shortens a text to a number of columns, and marks the end.
func (s Style) cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	more := s.Pick("…", "...")
	n, end := Width(more), 0
	for i, r := range text {
		if n += runeWidth(r); n > columns {
			break
		}
		end = i + len(string(r))
	}
	if Width(more) > columns {
		return strings.Repeat(".", max(0, columns))
	}
	return text[:end] + more
}

// Wrap breaks a text at blanks into lines of at most a number of columns. Only a single word may be wider. With zero columns, the width
// is unlimited.
func Wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case columns > 0 && Width(line)+1+Width(word) > columns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
