// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	kinds = []*regexp.Regexp{
		regexp.MustCompile(`ledger\.Resource\b`), regexp.MustCompile(`ledger\.Card\b`), regexp.MustCompile(`ledger\.DeviceCount\b`), regexp.MustCompile(`ledger\.DeviceCapacity\b`),
	}
	// uses matches calls that convert dimensions.
	uses = regexp.MustCompile(`ledger\.(ParseKey|ParseLabels)\(|\.Kind\.Info\(|\.LabelValues\(|Dimension\.(Key\(|Labels\b)`)
)

// TestEveryFormOfDimensionsIsTested checks that a package with a file that lists all kinds has a form, too.
func TestEveryFormOfDimensionsIsTested(t *testing.T) {
	found, tested := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		folder := filepath.Dir(path)
		switch test := strings.HasSuffix(path, "_test.go"); {
		case err != nil:
			return err
		case test:
			tested[folder] = tested[folder] || strings.Contains(string(text), "kindtest.Run(")
		case uses.Match(text) || listsKinds(string(text)):
			found[folder] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, path := range found {
		if !tested[folder] {
			t.Errorf("%s has a form of dimensions, and no test of the package calls kindtest.Run", path)
		}
	}
	if len(found) < 9 {
		t.Errorf("only %v have forms of dimensions", found)
	}
}

func listsKinds(text string) bool {
	return !slices.ContainsFunc(kinds, func(kind *regexp.Regexp) bool { return !kind.MatchString(text) })
}
