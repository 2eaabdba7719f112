// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"
)

func TestAnOutputIsRefusedWithTheFlag(t *testing.T) {
	for _, c := range []struct{ args, format, err string }{
		{"", "table", "<nil>"}, {"-owide", "wide", "<nil>"}, {"--output=csv", "csv", "<nil>"},
		{"--output=CSV", "table", `invalid argument "CSV" for "-o, --output" flag: use one of table, wide, json, yaml, csv`},
	} {
		var output Output
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		output.AddFlags(flags, "csv")
		if err := flags.Parse([]string{c.args}); output.Format != c.format || fmt.Sprint(err) != c.err {
			t.Errorf("%q: format %s, error %v, want %s and %s", c.args, output.Format, err, c.format, c.err)
		}
	}
}
