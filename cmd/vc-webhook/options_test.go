// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/devicequota/devicequota/test/page"
)

func TestEachFlagIsInThePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("vc-webhook", pflag.ContinueOnError)
	defaultOptions().addFlags(flags)
	_, section, _ := strings.Cut(string(text), "### Flags of vc-webhook\n")
	flags.VisitAll(func(f *pflag.Flag) {
		row := page.Row(section, "`--"+f.Name+"`")
		if len(row) != 3 || strings.Trim(row[1], "`") != f.DefValue || row[2] != f.Usage {
			t.Errorf("flag --%s with the default %q is %q in docs/reference.md: run `make generate`", f.Name, f.DefValue, row)
		}
	})
}
