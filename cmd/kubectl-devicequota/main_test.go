// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/devicequota/devicequota/test/page"
)

func TestEachFlagIsInThePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(text), "### Flags of kubectl devicequota\n")
	all, each, _ := strings.Cut(all, "### Flags of the commands")
	for _, command := range newCommand(genericiooptions.IOStreams{}).Commands() {
		command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			rows := all
			if f.Name != "output" && f.Name != "ascii" {
				rows = ""
				for line := range strings.Lines(each) {
					if strings.HasPrefix(line, "| ["+command.Name()+"](") {
						rows += line
					}
				}
			}
			row := page.Row(rows, "`--"+f.Name+"`")
			want := strings.ReplaceAll(strings.Trim(f.DefValue, "[]"), ",", ", ")
			if row == nil || f.Name != "output" && strings.Trim(row[len(row)-2], "`") != want {
				t.Errorf("flag --%s of %s with the default %q is %q in docs/reference.md: run `make generate`", f.Name, command.Name(), want, row)
			}
		})
	}
}

// run runs a command, and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	command := newCommand(genericiooptions.IOStreams{Out: &out, ErrOut: &out})
	command.SetArgs(args)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestThePluginSaysWhatItWasBuiltFrom(t *testing.T) {
	if out := run(t, "--version"); !strings.HasPrefix(out, "devicequota ") || !strings.Contains(out, "commit:") {
		t.Error(out)
	}
}

func TestTheFlagsOfAllCommandsAreListedOnce(t *testing.T) {
	if listed := run(t, "options"); !strings.Contains(listed, "--endpoint") || !strings.Contains(listed, "--as-group") {
		t.Errorf("options prints %s", listed)
	}
	for _, args := range [][]string{{"--help"}, {"tree", "--help"}, {"help", "holders"}} {
		if help := run(t, args...); strings.Contains(help, "--as-group") || !strings.Contains(help, "kubectl devicequota options") || len(args) == 2 && !strings.Contains(help, "--output") {
			t.Errorf("%v prints %s", args, help)
		}
	}
}
