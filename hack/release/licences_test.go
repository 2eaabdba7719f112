// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The program of this test is a real one with modules that it depends on.
func TestLicencesAreThoseOfTheModules(t *testing.T) {
	text := string(must[[]byte](t)(licences(must[string](t)(os.Executable()))))
	for _, want := range []string{"Copyright 2009 The Go Authors", "\nGo\n", "\ngithub.com/google/go-containerregistry\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the licences", want)
		}
	}
}

func TestEqualLicencesAreThereOnce(t *testing.T) {
	holders := map[string][]string{}
	for _, name := range []string{"b", "a"} {
		folder := t.TempDir()
		writeFile(t, filepath.Join(folder, "LICENSE.txt"), "Be free.\n")
		writeFile(t, filepath.Join(folder, "licenses.go"), "package licenses\n")
		if err := collect(holders, name, folder); err != nil {
			t.Fatal(err)
		}
	}
	line := strings.Repeat("-", 80) + "\n"
	if got, want := string(format(holders)), line+"a\nb\n"+line+"\nBe free.\n\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestAModuleWithoutALicenceIsRefused(t *testing.T) {
	if err := collect(map[string][]string{}, "example.com/m", t.TempDir()); err == nil || !strings.Contains(err.Error(), "example.com/m has no licence in ") {
		t.Error(err)
	}
}
