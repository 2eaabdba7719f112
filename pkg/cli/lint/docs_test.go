// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

// shownCommand matches a command of the page, up to the end of the code.
var shownCommand = regexp.MustCompile("kubectl devicequota lint([^`\n>]*)")

// TestTheCommandsOfThePage runs each command where queues.yaml and the folder manifests have the example of the page.
func TestTheCommandsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	manifest := string(yamlBlock.FindSubmatch(page)[1])
	write(t, "queues.yaml", manifest)
	write(t, "manifests/queues.yaml", manifest)
	_, table, _ := strings.Cut(string(page), "    kubectl devicequota lint --offline -f queues.yaml\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	table = strings.ReplaceAll("\n"+table, "\n    ", "\n")[1:] + "\n"
	offline := func(out string) bool { return out == table }
	for _, c := range []struct {
		command string
		shows   func(out string) bool
	}{
		{"", func(out string) bool {
			return strings.Contains(out, "Queue/lost") && !strings.Contains(out, "research")
		}},
		{"--offline -f queues.yaml", offline},
		{"-f FILE", func(out string) bool {
			return strings.Contains(out, "queues.yaml:8") && !strings.Contains(out, "Queue/lost")
		}},
		{"--offline -f FILE", offline},
		{"--offline -f manifests -o sarif", func(out string) bool {
			return results(t, out)[0].Locations[0].Physical.Artifact.URI == "manifests/queues.yaml"
		}},
	} {
		if !slices.ContainsFunc(shownCommand.FindAllSubmatch(page, -1), func(shown [][]byte) bool { return strings.TrimSpace(string(shown[1])) == c.command }) {
			t.Errorf("the page does not show the command lint %s", c.command)
		}
		o, out, _ := clitest.Options(t, apiServer(t, func(*kind) bool { return false }))
		cmd := New(o)
		cmd.SetArgs(strings.Fields(strings.ReplaceAll(c.command, "FILE", "queues.yaml")))
		_ = cmd.Execute() // it has findings
		if !c.shows(out.String()) {
			t.Errorf("kubectl devicequota lint %s prints\n%s", c.command, out)
		}
	}
	if shown := shownCommand.FindAll(page, -1); len(shown) != 6 { // the first is in a sentence
		t.Errorf("the page shows commands that this test does not know: %s", shown)
	}
}
