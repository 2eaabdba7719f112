// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tested has, for each page under docs/ with commands, the file of the test that runs them.
var tested = map[string]string{
	"accounting.md":      "test/e2e/accounting_test.go",
	"alerts.md":          "test/monitoring/metrics_test.go",
	"compute-domains.md": "test/e2e/docs_compute_domains_test.go",
	"devcluster.md":      "test/e2e/docs_devcluster_test.go",
	"failures.md":        "test/e2e/docs_failures_test.go",
	"guard.md":           "test/e2e/docs_guard_test.go",
	"install.md":         "test/chart/docs_test.go",
	"kubectl.md":         "test/e2e/docs_kubectl_test.go",
	"lint.md":            "pkg/cli/lint/docs_test.go",
	"migration.md":       "test/e2e/docs_migration_test.go",
	"monitoring.md":      "test/monitoring/metrics_test.go",
	"multicluster.md":    "test/chart/multicluster_page_test.go",
	"release.md":         "hack/release/page_test.go",
	"simulate.md":        "test/e2e/docs_simulate_test.go",
	"tour.md":            "test/e2e/docs_tour_test.go",
	"troubleshooting.md": "test/e2e/docs_kubectl_test.go",
	"visibility.md":      "test/e2e/docs_visibility_test.go",
	"volcano-1.15.md":    "test/e2e/volcano_1_15_test.go",
}

// command is a line of a page that a reader would paste into a shell.
var command = regexp.MustCompile(`(?m)^(?:(?:    |\$ )(?:kubectl|helm|make|bin/|promtool|git|go|curl) .*|` + "```(?:sh|console))$")

func TestEachPageWithCommandsIsRunByATest(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	left := maps.Clone(tested)
	for _, page := range pages {
		name := filepath.Base(page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !command.Match(text) {
			continue
		}
		test := tested[name]
		delete(left, name)
		if test == "" {
			t.Errorf("docs/%s has commands that no test runs", name)
			continue
		}
		code, err := os.ReadFile(filepath.Join("../..", test))
		if err != nil || !strings.Contains(string(code), name) {
			t.Errorf("%s does not read docs/%s: %v", test, name, err)
		}
	}
	if len(left) > 0 {
		t.Errorf("pages without commands, or that do not exist: %v", slices.Sorted(maps.Keys(left)))
	}
}
