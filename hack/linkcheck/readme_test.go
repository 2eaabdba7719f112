// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the examples of the README from docs/kubectl.md")

// example is a command, with what it prints.
var example = regexp.MustCompile("(?s)```console\n(\\$ [^\n]*\n).*?```\n")

// A test runs the commands of docs/kubectl.md.
func TestTheReadmeShowsWhatAPagePrints(t *testing.T) {
	const file = "../../README.md"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	for _, match := range example.FindAllStringSubmatch(string(page), -1) {
		printed[match[1]] = match[0]
	}
	readme := string(content)
	shown := example.FindAllStringSubmatch(readme, -1)
	if len(shown) != 2 {
		t.Errorf("the README has %d examples, want 2", len(shown))
	}
	for _, match := range shown {
		switch want := printed[match[1]]; {
		case want == "":
			t.Errorf("docs/kubectl.md does not have the example %s", match[1])
		case want != match[0] && *update:
			readme = strings.Replace(readme, match[0], want, 1)
		case want != match[0]:
			t.Errorf("docs/kubectl.md prints something else for %srun `go test ./hack/linkcheck -update`", match[1])
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(readme), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
