// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
)

// The program of this test is a real one with modules that it depends on.
func TestTheSBOMListsTheModulesOfTheProgram(t *testing.T) {
	path := must[string](t)(os.Executable())
	info := must[*buildinfo.BuildInfo](t)(buildinfo.ReadFile(path))
	text := must[[]byte](t)(sbom(path, testSource()))
	document := must[*spdx.Document](t)(json.Read(bytes.NewReader(text)))
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	var names []string
	for _, p := range document.Packages {
		names = append(names, p.PackageName+" "+p.PackageVersion)
	}
	if want := len(info.Deps) + 2; len(names) != want {
		t.Errorf("%d packages, not %d", len(names), want)
	}
	for _, want := range []string{"stdlib " + strings.TrimPrefix(info.GoVersion, "go"), "github.com/google/go-containerregistry v0.22.1"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %v", want, names)
		}
	}
	if p := document.Packages[0]; p.PackageVersion != "v0.1.0" || p.PackageFileName != filepath.Base(path) || len(p.PackageChecksums) != 1 {
		t.Errorf("the program is %+v", p)
	}
}

func TestThereIsNoSBOMOfWhatIsNoGoProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	writeFile(t, path, "#!/bin/sh\n")
	if _, err := sbom(path, testSource()); err == nil {
		t.Error("no error")
	}
}

func TestModulesAreDownloadedFromWhereTheProxyHasThem(t *testing.T) {
	got := goModule("", "github.com/NYTimes/gziphandler", "v1.1.1-RC1", "").PackageDownloadLocation
	if want := "https://proxy.golang.org/github.com/!n!y!times/gziphandler/@v/v1.1.1-!r!c1.zip"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
