// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRead(t *testing.T) {
	checkout := []debug.BuildSetting{
		{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.time", Value: "2026-11-22T13:36:53Z"},
	}
	for name, c := range map[string]struct {
		build                         debug.BuildInfo
		version, commit, date         string
		wantVersion, wantCommit       string
		wantDate, volcano, kubernetes string
	}{
		"nothing is known": {
			wantVersion: "(devel)", wantCommit: "unknown", wantDate: "unknown",
		},
		"go build in a checkout knows the commit and its date": {
			build:       debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261122133653-abc123"}, Settings: append(checkout, debug.BuildSetting{Key: "vcs.modified", Value: "false"})},
			wantVersion: "v0.1.1-0.20261122133653-abc123", wantCommit: "abc123", wantDate: "2026-11-22T13:36:53Z",
		},
		"files that are not committed make the commit dirty": {
			build:       debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: append(checkout, debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
			wantVersion: "(devel)", wantCommit: "abc123-dirty", wantDate: "2026-11-22T13:36:53Z",
		},
		"the linker's word goes before Go's": {
			build:   debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: checkout},
			version: "v0.1.0", commit: "def456", date: "2026-11-01T00:00:00Z",
			wantVersion: "v0.1.0", wantCommit: "def456", wantDate: "2026-11-01T00:00:00Z",
		},
		"the scheduler contains Volcano and Kubernetes, and a replaced module counts as what replaces it": {
			build: debug.BuildInfo{Deps: []*debug.Module{
				{Path: "k8s.io/client-go", Version: "v0.34.0"}, {Path: "k8s.io/kubernetes", Version: "v1.34.1"},
				{Path: "volcano.sh/volcano", Version: "v1.14.0", Replace: &debug.Module{Path: "example.com/volcano", Version: "v1.14.1"}},
			}},
			wantVersion: "(devel)", wantCommit: "unknown", wantDate: "unknown", volcano: "v1.14.1", kubernetes: "v1.34.1",
		},
		"a program without the scheduler has the version of Kubernetes' libraries": {
			build:       debug.BuildInfo{Deps: []*debug.Module{{Path: "k8s.io/client-go", Version: "v0.34.1"}}},
			wantVersion: "(devel)", wantCommit: "unknown", wantDate: "unknown", kubernetes: "v1.34.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			version, commit, date = c.version, c.commit, c.date
			t.Cleanup(func() { version, commit, date = "", "", "" })
			got := read(&c.build)
			if got.Version != c.wantVersion || got.Commit != c.wantCommit || got.Date != c.wantDate || got.Volcano != c.volcano || got.Kubernetes != c.kubernetes {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestStringLeavesOutWhatTheProgramDoesNotContain(t *testing.T) {
	got := Info{Version: "v0.1.0", Commit: "abc123", Date: "2026-11-01T00:00:00Z", Kubernetes: "v1.34.1", Go: "go1.26.8", Platform: "linux/arm64"}.String()
	want := `devicequota v0.1.0
  commit:     abc123
  date:       2026-11-01T00:00:00Z
  Kubernetes: v1.34.1
  Go:         go1.26.8
  platform:   linux/arm64`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMetricIsOneAndNamesTheBuild(t *testing.T) {
	version, commit, date = "v0.1.0", "abc123", "2026-11-01T00:00:00Z"
	t.Cleanup(func() { version, commit, date = "", "", "" })
	info := Get()
	want := `# HELP devicequota_build_info What the program was built from; always 1
# TYPE devicequota_build_info gauge
devicequota_build_info{commit="abc123",date="2026-11-01T00:00:00Z",go_version="` + info.Go + `",version="v0.1.0",volcano_version="` + info.Volcano + `"} 1
`
	if err := testutil.CollectAndCompare(Metric(), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// The Makefile has the names of the variables, where no compiler checks them. Go puts the commit into programs only in a checkout.
func TestPrograms(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module github.com/devicequota/devicequota\n\ngo 1.25\n")
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(module, "pkg/version/version.go"), string(source))
	write(t, filepath.Join(module, "main.go"), `package main

import "github.com/devicequota/devicequota/pkg/version"

func main() { println(version.Get().String()) }
`)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "m"}} {
		output(t, module, "git", args...)
	}
	head := strings.TrimSpace(output(t, module, "git", "rev-parse", "HEAD"))

	t.Run("go build in a checkout knows the commit without flags", func(t *testing.T) {
		output(t, module, "go", "build", "-o", "plain", ".")
		if got := output(t, module, "./plain"); !strings.Contains(got, "commit:     "+head) {
			t.Errorf("commit %s is not in %s", head, got)
		}
	})
	t.Run("the Makefile's linker flags name the variables", func(t *testing.T) {
		makefile := filepath.Join("..", "..", "Makefile")
		flags := output(t, ".", "make", "-s", "-f", makefile, "print-release-ldflags", "VERSION=v9.8.7", "COMMIT=c0ffee", "DATE=2026-01-02T03:04:05Z")
		output(t, module, "go", "build", "-ldflags", strings.TrimSpace(flags), "-o", "flagged", ".")
		got := output(t, module, "./flagged")
		for _, want := range []string{"devicequota v9.8.7", "c0ffee", "2026-01-02T03:04:05Z"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	})
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func output(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=-buildvcs=auto")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return string(text)
}
