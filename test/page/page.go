// SPDX-License-Identifier: Apache-2.0

// Package page reads pages of the documentation, for tests that run their commands and compare what they print.
package page

import (
	"regexp"
	"strings"
)

// Block is a block of a page, which may be in a list: its kind, and manifests, commands, or what the commands before it print.
var Block = regexp.MustCompile("(?ms)^ *```(yaml|sh|text)\n(.*?)^ *```$")

var (
	// age is a cell that is another one each time.
	age = regexp.MustCompile(`\b\d+(s|m|h|m\d+s)\b`)
	// uid is part of the name of a PodGroup.
	uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// csvNumber is an amount in a report.
	csvNumber = regexp.MustCompile(`,\d+(\.\d+)?\b`)
)

// Lines returns the lines of an output without what is another one each time: ages, UIDs, amounts in CSV, and the blanks between columns,
// which are as wide as the ages.
func Lines(output string) []string {
	output = csvNumber.ReplaceAllString(uid.ReplaceAllString(age.ReplaceAllString(output, "AGE"), "UID"), ",N")
	var all []string
	for line := range strings.Lines(output) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}
