// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/lint"
)

// TestSARIFLooksLikeThis compares the output with the file that hack/sarif validates with the JSON schema of SARIF.
func TestSARIFLooksLikeThis(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "team queues/a b#1.yaml", queue("a", "{parent: gone}")+queue("p", "{capability: {cpu: 1}}")+queue("b", "{parent: p, capability: {cpu: 2}}"))
	write(t, "pod.yaml", strings.TrimPrefix(pod("{}", ", schedulerName: volcano, schedulingGates: [{name: e.com/later}]"), "---\n"))
	out, _, code := run(t, "", "--offline", "-f", ".", "-o", "sarif")
	if code != exitFindings {
		t.Errorf("exit code %d", code)
	}
	t.Chdir(here)
	clitest.Golden(t, "findings.sarif", out)
}

// here is the folder of the package.
var here, _ = os.Getwd()

// write writes a file below the working folder.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// results returns the results of a log, which must have the fields that GitHub's code scanning needs.
func results(t *testing.T, text string) []sarifResult {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if log.Schema == "" || log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("the log is %s", text)
	}
	rules := log.Runs[0].Tool.Driver.Rules
	seen := map[string]bool{}
	for _, rule := range rules {
		if seen[rule.ID] || rule.ID == "" || rule.ShortDescription.Text == "" || rule.Help.Text == "" {
			t.Errorf("rule %+v", rule)
		}
		seen[rule.ID] = true
	}
	for _, r := range log.Runs[0].Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" || len(r.Locations) != 1 {
			t.Fatalf("the result is %+v", r)
		}
		switch r.Level {
		case lint.Error, lint.Warning, lint.Note:
		default:
			t.Errorf("level %q", r.Level)
		}
		if place := r.Locations[0].Physical; place.Artifact.URI == "" || place.Region.StartLine < 1 {
			t.Errorf("a result is at %+v", place)
		}
	}
	return log.Runs[0].Results
}

func TestPlacesInSARIFAreRelativeToTheWorkingFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	wrong := queue("a", "{parent: gone}")
	write(t, "team a/queue 1#2.yaml", wrong)
	write(t, "outside.yaml", wrong)
	t.Chdir(filepath.Join(folder, "team a"))
	outside := "file://" + filepath.ToSlash(filepath.Join(folder, "outside.yaml"))
	for _, c := range []struct{ file, want string }{
		{".", "queue%201%232.yaml"},
		{"./queue 1#2.yaml", "queue%201%232.yaml"},
		{filepath.Join(folder, "team a", "queue 1#2.yaml"), "queue%201%232.yaml"},
		{"../outside.yaml", outside},
		{"-", "stdin"},
	} {
		out, told, _ := run(t, wrong, "--offline", "-f", c.file, "-o", "sarif")
		if all := results(t, out); len(all) != 1 || all[0].Locations[0].Physical.Artifact.URI != c.want || all[0].Locations[0].Physical.Region.StartLine != 5 {
			t.Errorf("-f %s: the results are %+v, want one at %s:5\n%s", c.file, all, c.want, told)
		}
	}
}

// TestWhatIsInNoFileHasAPlaceInSARIF: GitHub refuses a log with a result without a place.
func TestWhatIsInNoFileHasAPlaceInSARIF(t *testing.T) {
	o, out, _ := clitest.Options(t, apiServer(t, func(*kind) bool { return false }))
	cmd := New(o)
	cmd.SetArgs([]string{"-o", "sarif"})
	_ = cmd.Execute() // it has findings
	if all := results(t, out.String()); len(all) != 2 || all[0].Locations[0].Physical.Artifact.URI != "Queue/lost" {
		t.Errorf("the results are %+v", all)
	}
}

func TestNothingFoundIsSARIF(t *testing.T) {
	out, _, code := run(t, queue("a", ""), "--offline", "-f", "-", "-o", "sarif")
	if all := results(t, out); all == nil || len(all) != 0 || code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
}
