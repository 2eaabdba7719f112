// SPDX-License-Identifier: Apache-2.0

package page

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// CheckFlags compares the flags of a program with its table in a page. The set of flags has the name of the program.
func CheckFlags(t *testing.T, file string, flags *pflag.FlagSet) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Flags of "+flags.Name()+"\n")
	flags.VisitAll(func(f *pflag.Flag) {
		row := Row(section, "`--"+f.Name+"`")
		if len(row) != 3 || strings.Trim(row[1], "`") != f.DefValue || row[2] != f.Usage {
			t.Errorf("flag --%s with the default %q is %q in %s: run `make generate`", f.Name, f.DefValue, row, file)
		}
	})
}
