// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const testCommit = "0123456789012345678901234567890123456789"

func testSource() source {
	return source{version: "v0.1.0", commit: testCommit, date: time.Date(2026, 11, 22, 13, 36, 53, 0, time.UTC), licence: []byte("Apache License\n")}
}

// buildPrograms builds a small program under each name for each platform, and returns the folder.
func buildPrograms(t *testing.T, platforms []v1.Platform, names ...string) string {
	t.Helper()
	module, binaries := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(module, "go.mod"), "module github.com/devicequota/devicequota\n\ngo 1.25\n")
	writeFile(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { println(\"it runs\") }\n")
	for _, platform := range platforms {
		for _, name := range names {
			if platform.OS == "windows" {
				name += ".exe"
			}
			build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(binaries, folderOf(platform), name), ".")
			build.Dir = module
			build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
			if output, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
		}
	}
	return binaries
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestRunRefuses(t *testing.T) {
	licence := filepath.Join(t.TempDir(), "LICENSE")
	writeFile(t, licence, "Apache License")
	good := slices.Clip([]string{"-version", "v0.1.0", "-commit", testCommit, "-date", "2026-11-22T13:36:53Z", "-licence", licence})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to make":             {nil, "say what to make"},
		"what it cannot make":         {append([]string{"cake"}, append(good, "-platforms", "linux/amd64")...), "cake cannot be made"},
		"a release without a version": {[]string{"images"}, "-version and -commit are needed"},
		"a date that is not one":      {[]string{"images", "-version", "v0.1.0", "-commit", testCommit, "-date", "yesterday"}, "-date: "},
		"a licence that is not there": {append([]string{"images"}, append(good[:6:6], "-licence", "nowhere")...), "-licence: "},
		"a release for no platform":   {append([]string{"images"}, good...), "-platforms is needed"},
		"a platform that is not one":  {append([]string{"images"}, append(good, "-platforms", "linux/amd64 linux")...), "linux is not a platform"},
		"a program that is not there": {append([]string{"images"}, append(good, "-platforms", "linux/amd64", "-binaries", "nowhere", "-out", t.TempDir(), "vc-scheduler")...), "image of vc-scheduler: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
