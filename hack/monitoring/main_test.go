// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/metric"
)

const root = "../.."

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	generated, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range generated {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date (%v): run `make generate`", path, err)
		}
	}
}

func TestEachMetricIsListedOnceAndExplained(t *testing.T) {
	listed := map[string]bool{}
	for _, group := range metric.Groups() {
		for _, m := range group.Metrics {
			if listed[m.Name] {
				t.Errorf("%s is listed twice", m.Name)
			}
			listed[m.Name] = true
			if m.Help == "" || m.Unit == "" || m.Type == "" || strings.HasSuffix(m.Help, ".") || strings.HasSuffix(m.Note, ".") {
				t.Errorf("%s lacks something, or ends with a full stop: %+v", m.Name, m)
			}
			if (m.Type == metric.Counter) != strings.HasSuffix(m.Name, "_total") {
				t.Errorf("%s is a %s", m.Name, m.Type)
			}
		}
	}
}

func TestEachAlertHasARunbookAndATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(root, "test/monitoring/rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Count(string(page), "\n## DeviceQuota")
	alerts := 0
	for _, group := range alertGroups {
		for _, a := range group.alerts {
			alerts++
			if !strings.Contains(string(page), "\n## "+a.name+"\n") {
				t.Errorf("docs/alerts.md has no section %s", a.name)
			}
			fires, silent := 0, 0
			for _, check := range strings.Split(string(tests), "alertname: ")[1:] {
				name, rest, _ := strings.Cut(check, "\n")
				if name != a.name {
					continue
				}
				if strings.HasPrefix(strings.TrimSpace(rest), "exp_alerts: []") {
					silent++
				} else {
					fires++
				}
			}
			if fires == 0 || silent == 0 {
				t.Errorf("%s: the tests expect %d times that it fires, and %d times that it does not", a.name, fires, silent)
			}
			if a.summary == "" || a.description == "" || strings.HasSuffix(a.summary, ".") || !strings.HasSuffix(a.description, ".") {
				t.Errorf("%s: summary %q, description %q", a.name, a.summary, a.description)
			}
		}
	}
	if sections != alerts {
		t.Errorf("docs/alerts.md has %d sections for %d alerts", sections, alerts)
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	type cell struct{ x, y int }
	taken := map[cell]any{}
	for _, p := range panels() {
		place, _ := p["gridPos"].(object)
		at := func(key string) int { n, _ := place[key].(int); return n }
		for x := at("x"); x < at("x")+at("w"); x++ {
			for y := at("y"); y < at("y")+at("h"); y++ {
				if other := taken[cell{x, y}]; other != nil || x >= gridWidth {
					t.Fatalf("panel %v is at %d,%d, where %v is, or outside of the grid", p["title"], x, y, other)
				}
				taken[cell{x, y}] = p["title"]
			}
		}
	}
}
