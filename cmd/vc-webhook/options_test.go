// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestEachFlagIsInThePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("vc-webhook", pflag.ContinueOnError)
	defaultOptions().addFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(text), "`--"+f.Name+"`") {
			t.Errorf("flag --%s is not in docs/guard.md", f.Name)
		}
	})
}
