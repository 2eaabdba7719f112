// SPDX-License-Identifier: Apache-2.0

// Command linkcheck checks that every relative link in a Markdown file leads to a file or folder, and to a heading that is there.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

var (
	// link matches the target of a link, and its anchor. Targets on other sites contain a colon.
	link    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	// fence is a block of code, in which a line may begin with a number sign.
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// inHeading is what a heading shows of a link.
	inHeading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func main() {
	if err := check("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns an error for each broken link in the Markdown files of a folder and below.
func check(root string) error {
	var broken []error
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if err := follow(path, match[1], match[2]); err != nil {
				broken = append(broken, fmt.Errorf("%s: broken link: %w", path, err))
			}
		}
		return err
	})
	return errors.Join(append(broken, err)...)
}

// follow returns an error if a link of a page leads nowhere. Without a file, it leads to a heading of the page itself.
func follow(page, file, anchor string) error {
	target := page
	if file != "" {
		target = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(target); err != nil {
		return err
	}
	if anchor == "" || filepath.Ext(target) != ".md" {
		return nil
	}
	text, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	for _, match := range heading.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
		if anchorOf(string(match[1])) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading #%s", target, anchor)
}

// anchorOf returns the anchor that GitHub gives to a heading.
func anchorOf(heading string) string {
	shown := strings.ToLower(strings.TrimSpace(inHeading.ReplaceAllString(heading, "$1")))
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
