// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestTheFlagsOfAllCommandsAreListedOnce(t *testing.T) {
	run := func(args ...string) string {
		var out bytes.Buffer
		command := newCommand(genericiooptions.IOStreams{Out: &out, ErrOut: &out})
		command.SetArgs(args)
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if listed := run("options"); !strings.Contains(listed, "--endpoint") || !strings.Contains(listed, "--as-group") {
		t.Errorf("options prints %s", listed)
	}
	for _, args := range [][]string{{"--help"}, {"tree", "--help"}, {"help", "holders"}} {
		if help := run(args...); strings.Contains(help, "--as-group") || !strings.Contains(help, "kubectl devicequota options") || len(args) == 2 && !strings.Contains(help, "--output") {
			t.Errorf("%v prints %s", args, help)
		}
	}
}
