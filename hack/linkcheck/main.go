// SPDX-License-Identifier: Apache-2.0

// Command linkcheck checks that every relative link in a Markdown file leads to a file or folder.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// target matches the target of a link up to its anchor. Targets on other sites contain a colon.
var target = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

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
		for _, match := range target.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), string(match[1]))); err != nil {
				broken = append(broken, fmt.Errorf("%s: broken link: %w", path, err))
			}
		}
		return err
	})
	return errors.Join(append(broken, err)...)
}
