// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"text/tabwriter"

	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/lint"
)

// report is printed as JSON and YAML.
type report struct {
	Findings []finding `json:"findings"`
}

// finding is a finding with its place in a file.
type finding struct {
	Rule     string        `json:"rule"`
	Severity lint.Severity `json:"severity"`
	Object   lint.Ref      `json:"object"`
	Field    string        `json:"field,omitempty"`
	Message  string        `json:"message"`
	// File and Line are empty for an object that is in the cluster only.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// newReport returns a report of the findings of file readers and of the findings about objects.
func newReport(ofFiles []finding, ofObjects []lint.Finding, documents []*document) *report {
	r := &report{Findings: append([]finding{}, ofFiles...)}
	places := make(map[lint.Ref]*document, len(documents))
	for _, d := range documents {
		places[d.ref] = d
	}
	for _, f := range ofObjects {
		r.Findings = append(r.Findings, newFinding(f, places[f.Object]))
	}
	return r
}

// newFinding adds the place. The document is nil for an object that is only in the cluster.
func newFinding(f lint.Finding, d *document) finding {
	one := finding{Rule: f.Rule, Severity: f.Severity, Object: f.Object, Field: f.Field.String(), Message: f.Message}
	if d != nil {
		one.File, one.Line = d.file, d.line(f.Field)
	}
	return one
}

// print writes the report in the format of the flag.
func (c *command) print(r *report) error {
	if c.output.Format == "sarif" {
		return writeSARIF(c.Out, r)
	}
	if done, err := c.output.Print(c.Out, r); done {
		return err
	}
	if len(r.Findings) == 0 {
		_, err := fmt.Fprintln(c.Out, "Nothing found")
		return err
	}
	table := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	header := "SEVERITY\tRULE\tWHERE\tMESSAGE"
	if c.output.Wide() {
		header = "SEVERITY\tRULE\tWHERE\tOBJECT\tFIELD\tMESSAGE"
	}
	fmt.Fprintln(table, header)
	for i := range r.Findings {
		f := &r.Findings[i]
		if c.output.Wide() {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Severity, f.Rule, term.Harmless(f.where()), term.Harmless(f.Object.String()), term.Harmless(f.Field), term.Harmless(f.Message))
		} else {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Severity, f.Rule, term.Harmless(f.where()), term.Harmless(f.Message))
		}
	}
	return table.Flush()
}

// where returns the place in a file, or the object.
func (f *finding) where() string {
	if f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.Object.String()
}
