// SPDX-License-Identifier: Apache-2.0

package page

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Section is what is below one heading of a page, up to the next one, without blocks of code.
type Section struct{ Heading, Text string }

var (
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	// fence is a block of code, in which a line may begin with a number sign.
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// inHeading is what a heading shows of a link.
	inHeading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Sections returns the sections of a page.
func Sections(text string) []Section {
	text = fence.ReplaceAllString(text, "")
	found := headings.FindAllStringSubmatchIndex(text, -1)
	sections := make([]Section, len(found))
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		sections[i] = Section{text[at[2]:at[3]], text[at[1]:end]}
	}
	return sections
}

// Anchor returns the anchor that GitHub gives to a section.
func (s Section) Anchor() string {
	shown := strings.ToLower(strings.TrimSpace(inHeading.ReplaceAllString(s.Heading, "$1")))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return r
		default:
			return -1
		}
	}, shown)
}

// Row returns the cells of the first row of a table in which one cell has a text, nil if there is none.
func Row(text, cell string) []string {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) > 1 && slices.ContainsFunc(cells, func(c string) bool { return strings.Contains(c, cell) }) {
			return cells
		}
	}
	return nil
}
