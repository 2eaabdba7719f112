// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var measures = []accounting.Measure{accounting.Used, accounting.GuaranteedIdle, accounting.Waited}

// Row is a row of a report as JSON and YAML.
type Row struct {
	Group          `json:",inline"`
	Used           Time `json:"used"`
	GuaranteedIdle Time `json:"guaranteedIdle"`
	Waited         Time `json:"waited"`
}

// Time is an amount times a time.
type Time struct {
	// Hours is rounded to six decimals.
	Hours string `json:"hours"`
	// Seconds is exact.
	Seconds string `json:"seconds"`
}

func timeOf(amount ledger.Amount) Time {
	return Time{Hours: hours(amount, 6), Seconds: amount.String()}
}

// hours converts an amount times seconds to hours, without trailing zeros.
func hours(amount ledger.Amount, decimals int) string {
	const nanosecondsPerHour = 3600 * 1_000_000_000
	text := new(big.Rat).SetFrac(amount.Nano(), big.NewInt(nanosecondsPerHour)).FloatString(decimals)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func (f *flags) print(w io.Writer, rows []*row) error {
	list := make([]Row, len(rows))
	for i, r := range rows {
		list[i] = Row{r.Group, timeOf(r.sums[accounting.Used]), timeOf(r.sums[accounting.GuaranteedIdle]), timeOf(r.sums[accounting.Waited])}
	}
	if printed, err := f.output.Print(w, map[string]any{"rows": list}); printed {
		return err
	}
	if f.output.Format == "csv" {
		return f.printCSV(w, rows)
	}
	return f.printTable(w, rows)
}

// formulaStarts are the characters that start a formula in a spreadsheet. The apostrophe is one of them, to distinguish an original apostrophe from
// an added one.
const formulaStarts = "=+-@'\t\r\n\uff1d\uff0b\uff0d\uff20"

// asText returns a value that a spreadsheet shows as text and does not evaluate. Users choose labels and card names, and administrators open reports.
func asText(value string) string {
	if first, _ := utf8.DecodeRuneInString(value); value != "" && strings.ContainsRune(formulaStarts, first) {
		return "'" + value
	}
	return value
}

// printCSV writes rounded hours and exact seconds.
func (f *flags) printCSV(w io.Writer, rows []*row) error {
	table := csv.NewWriter(w)
	header := append(append([]string{}, f.by...), "unit", "used_hours", "guaranteed_idle_hours", "waited_hours", "used_seconds", "guaranteed_idle_seconds", "waited_seconds")
	lines := [][]string{header}
	for _, r := range rows {
		line := append(f.values(r), r.Unit)
		for i := range line {
			line[i] = asText(line[i])
		}
		for _, measure := range measures {
			line = append(line, timeOf(r.sums[measure]).Hours)
		}
		for _, measure := range measures {
			line = append(line, timeOf(r.sums[measure]).Seconds)
		}
		lines = append(lines, line)
	}
	return table.WriteAll(lines)
}

func (f *flags) values(r *row) []string {
	values := make([]string, len(f.by))
	for i, column := range f.by {
		values[i] = *r.property(column)
	}
	return values
}

// printTable writes hours with two decimals, or with six if the table is wide.
func (f *flags) printTable(w io.Writer, rows []*row) error {
	decimals := 2
	if f.output.Wide() {
		decimals = 6
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, strings.ToUpper(strings.Join(append(append([]string{}, f.by...), "unit", "used", "guaranteed idle", "waited"), "\t")))
	for _, r := range rows {
		line := append(f.values(r), r.Unit+"-hours")
		for _, measure := range measures {
			line = append(line, r.amountOf(measure, decimals))
		}
		for i := range line {
			line[i] = term.Harmless(line[i])
		}
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	return table.Flush()
}

// amountOf returns hours in a common unit: memory in GiB.
func (r *row) amountOf(measure accounting.Measure, decimals int) string {
	amount := r.sums[measure]
	const gibi = 1 << 30
	if r.Unit == "memory" || r.dimension.Capacity != "" && strings.HasSuffix(r.Unit, "/memory") {
		whole := new(big.Int).Quo(amount.Nano(), big.NewInt(gibi))
		if scaled, err := ledger.FromNano(whole); err == nil {
			return hours(scaled, decimals) + "Gi"
		}
	}
	return hours(amount, decimals)
}
