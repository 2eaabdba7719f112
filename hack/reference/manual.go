// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/devicequota/devicequota/test/page"
)

// unread are pages that do not explain names to users.
const unread = "architecture.md performance.md reference.md"

// names matches the first cell of a row if it only has names.
var names = regexp.MustCompile("^(`[^`]+`(, )?)+( \\([^|]*\\))? \\| ")

// manual has the sections of each page.
type manual map[string][]page.Section

func readManual(folder string) (manual, error) {
	pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
	m := manual{}
	for _, file := range pages {
		text, failed := os.ReadFile(file)
		if failed != nil {
			return nil, failed
		}
		if name := filepath.Base(file); !strings.Contains(unread, name) {
			m[name] = page.Sections(string(text))
		}
	}
	return m, err
}

// explains returns a link to the section about a name: where the name starts a row of a table or, without one, where it occurs most often.
// Preferred pages come first.
func (m manual) explains(name, preferred string) (string, error) {
	best, most := "", 0
	name = "`" + name + "`"
	for file, sections := range m {
		for _, s := range sections {
			score := strings.Count(s.Text, name)
			for line := range strings.Lines(s.Text) {
				if cell, is := strings.CutPrefix(line, "| "); is && names.MatchString(cell) && strings.Contains(names.FindString(cell), name) {
					score += 100
				}
			}
			if score > 0 && strings.Contains(preferred, file) {
				score += 1000
			}
			if link := fmt.Sprintf("[%s](%s#%s)", s.Heading, file, s.Anchor()); score > most || score == most && link < best {
				best, most = link, score
			}
		}
	}
	if most == 0 {
		return "", fmt.Errorf("no page of docs explains %s", name)
	}
	return best, nil
}
