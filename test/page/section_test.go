// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"testing"
)

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	for heading, want := range map[string]string{
		"`kubectl devicequota`: see": "kubectl-devicequota-see", "A [link](b.md) & more": "a-link--more", "1. Volcano's chart": "1-volcanos-chart", "snake_case": "snake_case",
	} {
		if got := (Section{Heading: heading}).Anchor(); got != want {
			t.Errorf("%q: %s, want %s", heading, got, want)
		}
	}
}

func TestSectionsEndAtTheNextHeadingOfAnyLevel(t *testing.T) {
	got := Sections("# One\ntext\n```\n# no heading\n```\n## Two\n\n| `a`, `b` | 1 |\n")
	want := []Section{{"One", "\ntext\n\n"}, {"Two", "\n\n| `a`, `b` | 1 |\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if row := Row(got[1].Text, "`b`"); !slices.Equal(row, []string{"`a`, `b`", "1"}) {
		t.Errorf("%q", row)
	}
	if row := Row(got[1].Text, "`c`"); row != nil {
		t.Errorf("%q", row)
	}
}
