// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// formats are the formats of all commands. The first one is the default.
var formats = []string{"table", "wide", "json", "yaml"}

// Output is the flag --output of a command: table, wide, json, yaml, or a format of this command only.
type Output struct {
	Format string
	// formats are the valid formats.
	formats []string
}

// AddFlags adds the flag with the default table. Others are formats of this command only.
func (o *Output) AddFlags(flags *pflag.FlagSet, others ...string) {
	o.Format, o.formats = formats[0], slices.Concat(formats, others)
	flags.VarP(o, "output", "o", "one of "+strings.Join(slices.Concat(formats, others), ", "))
}

// Set implements pflag.Value. It refuses other formats.
func (o *Output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("use one of %s", strings.Join(o.formats, ", "))
	}
	o.Format = format
	return nil
}

// String implements pflag.Value.
func (o *Output) String() string { return o.Format }

// Type implements pflag.Value.
func (o *Output) Type() string { return "string" }

// Wide reports whether tables have all columns.
func (o *Output) Wide() bool { return o.Format == "wide" }

// Print writes an object as JSON or YAML. It returns false for a format for people.
func (o *Output) Print(w io.Writer, object any) (bool, error) {
	switch o.Format {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(object)
	case "yaml":
		text, err := yaml.Marshal(object)
		if err != nil {
			return true, err
		}
		_, err = w.Write(text)
		return true, err
	default:
		return false, nil
	}
}
