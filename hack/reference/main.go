// SPDX-License-Identifier: Apache-2.0

// Command reference writes docs/reference.md: the arguments, annotations, labels, flags, reasons of events, and conditions in the code, with
// their comments and links to the pages that explain them. The working directory is the root of the repository.
package main

import (
	"log"
	"os"
	"path/filepath"
)

const written = "docs/reference.md"

func main() {
	log.SetFlags(0)
	text, err := generate(".")
	if err == nil {
		err = os.WriteFile(written, text, 0o644) //nolint:gosec // everybody may read it
	}
	if err != nil {
		log.Fatalf("reference: %v", err)
	}
}

// generate returns the page of a repository.
func generate(root string) ([]byte, error) {
	code, err := read(root, "apis", "cmd", "pkg")
	if err != nil {
		return nil, err
	}
	m, err := readManual(filepath.Join(root, "docs"))
	if err != nil {
		return nil, err
	}
	return write(code, m)
}
