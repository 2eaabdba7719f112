// SPDX-License-Identifier: Apache-2.0

// Command boilerplate checks that every Go file begins with the licence header in hack/boilerplate.go.txt.
// Generated files are exempt: their generators write it. The working directory is the root of the
// repository.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
)

const headerFile = "hack/boilerplate.go.txt"

// generated is the line that https://go.dev/s/generatedcode specifies.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// skipped are folders without source files.
var skipped = []string{".git", "bin"}

func main() {
	root := os.DirFS(".")
	header, err := fs.ReadFile(root, headerFile)
	if err == nil {
		err = check(root, header)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "boilerplate: %v\n", err)
		os.Exit(1)
	}
}

// check returns an error that lists the files without the header.
func check(root fs.FS, header []byte) error {
	var missing []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err == nil && !bytes.HasPrefix(data, header) && !generated.Match(data) {
			missing = append(missing, name)
		}
		return err
	})
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%d files do not begin with %q: %q", len(missing), bytes.TrimSpace(header), missing)
	}
	return err
}
