// SPDX-License-Identifier: Apache-2.0

// Command linkcheck checks that every relative link in a Markdown file leads to an existing file or folder, and to an existing heading.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/devicequota/devicequota/test/page"
)

// link matches the target of a link, and its anchor. Targets on other sites contain a colon.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)

func main() {
	if err := check("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check returns an error for each broken link in the Markdown files below a folder.
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

// follow returns an error for a broken link of a page. A link without a file leads to a heading of the same page.
func follow(from, file, anchor string) error {
	target := from
	if file != "" {
		target = filepath.Join(filepath.Dir(from), file)
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
	for _, section := range page.Sections(string(text)) {
		if section.Anchor() == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading #%s", target, anchor)
}
