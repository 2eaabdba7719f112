// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// writeNotes writes the section of a version in a changelog. Without this section, it writes the unreleased changes.
func writeNotes(to io.Writer, changelog io.Reader, version string) error {
	sections := map[string][]string{}
	section := ""
	lines := bufio.NewScanner(changelog)
	for lines.Scan() {
		line := lines.Text()
		if rest, found := strings.CutPrefix(line, "## ["); found {
			section, _, _ = strings.Cut(rest, "]")
			continue
		}
		sections[section] = append(sections[section], line)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, name := range []string{strings.TrimPrefix(version, "v"), "Unreleased"} {
		if text := strings.TrimSpace(strings.Join(sections[name], "\n")); name != "" && text != "" {
			_, err := fmt.Fprintln(to, text)
			return err
		}
	}
	return errors.New("the changelog has no section for version " + version + ", and nothing in Unreleased")
}
