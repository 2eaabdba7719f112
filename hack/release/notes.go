// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// writeNotes writes what a changelog says of a version. If it has no section for the version yet, what is not released counts.
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
