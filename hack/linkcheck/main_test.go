// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, broken := range map[string]string{
		"a file beside the page [a](a.md)":                            "",
		"a folder above, an anchor [a](../docs/a.md#there), [b](../)": "",
		"an anchor of the page itself [here](#here)\n\n## Here":       "",
		"an anchor that is not there [here](#here)":                   "page.md has no heading #here",
		"an anchor of another page [a](a.md#not-there)":               "a.md has no heading #not-there",
		"an anchor of a file that is no page [a](a.go#L1)":            "",
		"another site [k](https://kubernetes.io/docs) stays unread":   "",
		"a picture that does not exist ![p](p.svg)":                   "p.svg",
		"the second link of a line [a](a.md) [b](b/c.md#there)":       "b/c.md",
	} {
		dir := filepath.Join(t.TempDir(), "docs")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"a.md": "# There\n\n```\n# not there\n```\n", "a.go": "", "page.md": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		switch err := check(dir); {
		case broken == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case broken != "" && (err == nil || !strings.Contains(err.Error(), "page.md") || !strings.Contains(err.Error(), broken)):
			t.Errorf("%q: %v, want an error that names page.md and %s", text, err, broken)
		}
	}
}
