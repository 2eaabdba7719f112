// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/lint"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// run runs the command with standard input. It returns the output and the exit code.
func run(t *testing.T, input string, args ...string) (out, told string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(cli.NewOptions(genericiooptions.IOStreams{In: strings.NewReader(input), Out: &stdout, ErrOut: &stderr}))
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceUsage = true
	err := cmd.Execute()
	var exit *cli.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.Code
	case err != nil:
		t.Fatalf("no exit code: %v", err)
	}
	return stdout.String(), stderr.String(), code
}

// found returns the findings of lint in a text.
func found(t *testing.T, input string) []finding {
	t.Helper()
	out, told, code := run(t, input, "--offline", "-f", "-", "-o", "json")
	if code == exitUsage {
		t.Fatal(told)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r.Findings
}

func TestExitCodesAreForCI(t *testing.T) {
	fine, warns, wrong := queue("a", ""), queue("p", "{capability: {cpu: 1}}")+queue("a", "{parent: p, capability: {cpu: 2}}"), queue("a", "{parent: gone}")
	for _, c := range []struct {
		name, input string
		args        []string
		want        int
	}{
		{"nothing is wrong", fine, nil, 0},
		{"a warning", warns, nil, 0},
		{"a warning, and warnings fail", warns, []string{"--fail-on=warning"}, exitFindings},
		{"an error", wrong, nil, exitFindings},
		{"no YAML", "a: [", nil, exitUsage},
		{"a wrong type", queue("a", "{parent: [1]}"), nil, exitUsage},
		{"an unknown severity", fine, []string{"--fail-on=never"}, exitUsage},
		{"an unknown format", fine, []string{"-o", "xml"}, exitUsage},
		{"an unknown flag", fine, []string{"--no-such-flag"}, exitUsage},
		{"an argument", fine, []string{"queues.yaml"}, exitUsage},
		{"a missing file", fine, []string{"-f", "no-such-file"}, exitUsage},
	} {
		if out, told, code := run(t, c.input, append([]string{"--offline", "-f", "-"}, c.args...)...); code != c.want {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.want, out, told)
		}
	}
}

func TestFindingsDoNotCommandTheTerminal(t *testing.T) {
	out, _, _ := run(t, `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, annotations: {scheduling.volcano.sh/queue-name: team, volcano.sh/card.name: "H1\e]0;owned\a\e[2J"}}
spec: {schedulerName: volcano, containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: v1
kind: Node
metadata: {name: n, labels: {nvidia.com/gpu.product: NVIDIA-H100}}
status: {allocatable: {nvidia.com/gpu: 8}}
`, "--offline", "-f", "-")
	if !strings.Contains(out, "H1\ufffd") || strings.Contains(out, "\x1b") {
		t.Errorf("the output is %q", out)
	}
}

func TestAFindingHasTheLineOfItsField(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "queues.yaml")
	text := "# a comment\n" + strings.TrimPrefix(queue("fine", ""), "---\n") + `---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata:
  name: wrong
  annotations:
    volcano.sh/card-quota: '{"A": 1}'
spec:
  parent: gone
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, code := run(t, "", "--offline", "-f", dir)
	for field, rule := range map[string]string{"volcano.sh/card-quota:": "UnknownAnnotation", "parent: gone": "QueueMisplaced"} {
		line := strings.Count(text[:strings.Index(text, field)], "\n") + 1
		if want := fmt.Sprintf("%s:%d", file, line); !strings.Contains(out, want) || !strings.Contains(out, rule) || code != exitFindings {
			t.Errorf("%s is not at %s:\n%s", rule, want, out)
		}
	}
}

func TestSamplesHaveNoErrors(t *testing.T) {
	const samples = "../../../config/samples/"
	cluster := []string{samples + "cluster", samples + "jobs", "../../../config/scheduler"}
	for name, folders := range map[string][]string{
		"cluster": nil, "mixed": {samples + "mixed"}, "devices": {samples + "devices"}, "multicluster": nil,
	} {
		args := []string{"--offline", "-o", "wide"}
		for _, folder := range append(folders, cluster...) {
			args = append(args, "-f", folder)
		}
		if name == "multicluster" {
			args = []string{"--offline", "-f", samples + "multicluster/member", "-f", samples + "multicluster/jobs"}
		}
		if out, told, code := run(t, "", args...); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, told)
		}
	}
}

func TestKindsThatAreNotKnownAreCounted(t *testing.T) {
	const service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	other := strings.ReplaceAll(queue("q", ""), "scheduling.volcano.sh", "example.com")
	out, told, code := run(t, service+other+service, "--offline", "-f", "-")
	const want = "Skipped 3 objects of kinds that lint does not look at: 1 Queue of example.com/v1beta1, 2 Service\n"
	if code != 0 || told != want || out != "Nothing found\n" {
		t.Errorf("exit code %d: %s%s", code, out, told)
	}
}

func TestTheDispatchersConfigurationIsNotTheSchedulers(t *testing.T) {
	t.Chdir("../../..")
	out, told, code := run(t, "", "--offline", "-f", "config")
	if code != 0 || strings.Contains(out, "config/dispatcher/config.yaml") || strings.Count(told, "Skipped ") != 1 || !strings.Contains(told, " 1 configuration of vc-dispatcher\n") {
		t.Errorf("exit code %d: %s%s", code, out, told)
	}
}

func TestEachObjectWithoutANameIsFoundInItsPlace(t *testing.T) {
	generated := strings.Replace(pod("{}", ", schedulerName: volcano"), "name: p,", "generateName: p-,", 1)
	for _, f := range []struct {
		text  string
		lines []int
	}{{generated, nil}, {queue("", "") + queue("a", "") + queue("", ""), []int{4, 14}}} {
		var lines []int
		for _, f := range found(t, f.text) {
			if f.Rule == lint.NameMissing {
				lines = append(lines, f.Line)
			}
		}
		if !slices.Equal(lines, f.lines) {
			t.Errorf("objects without a name are at the lines %v, want %v:\n%s", lines, f.lines, f.text)
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// waiting matches the note of a page about an example that waits as it should.
var waiting = regexp.MustCompile("(?m)^> `([^`]+)` waits: ")

// TestManifestsInTheDocumentationHaveNoErrors treats each page as one cluster, with the samples.
func TestManifestsInTheDocumentationHaveNoErrors(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err)
	}
	var samples strings.Builder
	for _, pattern := range []string{"cluster/*", "devices/*", "mixed/nodes"} {
		files, _ := filepath.Glob("../../../config/samples/" + pattern + ".yaml")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			samples.WriteString("---\n" + string(text))
		}
	}
	for _, page := range pages {
		if filepath.Base(page) == "lint.md" {
			continue // its example has mistakes
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		manifests := samples.String()
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(block[1], "kind: ") {
				manifests += "---\n" + block[1]
			}
		}
		waits := map[string]bool{}
		for _, statement := range waiting.FindAllStringSubmatch(string(text), -1) {
			waits[statement[1]] = true
		}
		// A page shows a part: quotas of classes that it does not define, the configuration of another plugin, or jobs whose classes and templates a driver makes.
		part := map[string]bool{
			"UnknownDeviceClass": true, lint.CapacityMissing: filepath.Base(page) == "crossquota.md",
			refusals.TaskRequestFailedReason: filepath.Base(page) == "compute-domains.md",
		}
		for _, f := range found(t, manifests) {
			if f.Severity == lint.Error && !waits[f.Object.Name] && !part[f.Rule] {
				t.Errorf("%s: %s: %s: %s", page, f.Object, f.Rule, f.Message)
			}
		}
	}
}
