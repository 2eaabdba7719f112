// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const changelog = `# Changelog

## [Unreleased]

- Not yet.

## [0.2.0] - 2026-12-01

### Added

- The second.

## [0.1.0] - 2026-11-01

- The first.
`
	for name, c := range map[string]struct{ changelog, version, want string }{
		"a version has its own section":                       {changelog, "v0.2.0", "### Added\n\n- The second.\n"},
		"the last section ends with the file":                 {changelog, "v0.1.0", "- The first.\n"},
		"a version without a section gets what is unreleased": {changelog, "v0.3.0-rc.1", "- Not yet.\n"},
		"a changelog that says nothing is an error":           {"# Changelog\n", "v0.1.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			err := writeNotes(&got, strings.NewReader(c.changelog), c.version)
			if got.String() != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v", got.String(), err)
			}
		})
	}
}
