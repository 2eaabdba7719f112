// SPDX-License-Identifier: Apache-2.0

// Package figures draws the figures of queues for several commands.
package figures

import (
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// cluster is shown as the limiting queue if no queue limits.
const cluster = "<cluster>"

// Columns returns the columns of figures. The columns before name the owner of the figures. Wide tables keep all columns on narrow terminals, too.
func Columns(wide bool, before ...term.Column) []term.Column {
	columns := append(before,
		term.Column{Title: "USE", Min: 8, Max: 20, Drop: 7},
		term.Column{Title: "ALLOCATED", Right: true})
	if wide {
		columns = append(columns, term.Column{Title: "RELEASING", Right: true})
	}
	columns = append(columns,
		term.Column{Title: "INQUEUE", Right: true, Optional: !wide, Drop: 6},
		term.Column{Title: "PROMISED", Right: true, Optional: !wide, Drop: 4})
	if wide {
		columns = append(columns,
			term.Column{Title: "ELASTIC", Right: true}, term.Column{Title: "REQUEST", Right: true}, term.Column{Title: "EITHER", Right: true}, term.Column{Title: "CAPABILITY", Right: true})
	}
	columns = append(columns,
		term.Column{Title: "DESERVED", Right: true, Optional: !wide, Drop: 3},
		term.Column{Title: "GUARANTEE", Right: true, Optional: !wide, Drop: 2},
		term.Column{Title: "LIMIT", Right: true},
		term.Column{Title: "LIMITED BY", Drop: 1})
	for i := range columns {
		if wide {
			columns[i].Drop = 0
		}
	}
	return columns
}

// Cells returns the cells for Columns. The cells before name the owner of the figures.
func Cells(f *v1alpha1.Figures, wide bool, before ...string) []term.Cell {
	var cells []term.Cell
	add := func(texts ...string) {
		for _, text := range texts {
			cells = append(cells, term.Cell{Text: text})
		}
	}
	d := f.Dimension
	add(before...)
	cells = append(cells, bar(f))
	add(cli.FormatAmount(d, f.Allocated))
	if wide {
		add(cli.FormatAmount(d, f.Releasing))
	}
	add(cli.FormatAmount(d, f.Inqueue), cli.FormatAmount(d, f.Promised))
	if wide {
		add(cli.FormatAmount(d, f.Elastic), cli.FormatAmount(d, f.Request), cli.FormatAmount(d, f.Either), cli.FormatLimit(d, f.Capability))
	}
	add(cli.FormatLimit(d, f.Deserved), cli.FormatLimit(d, f.Guarantee), cli.FormatLimit(d, f.Limit), limitedBy(f))
	return cells
}

func limitedBy(f *v1alpha1.Figures) string {
	switch {
	case f.Limit == nil:
		return "-"
	case f.LimitedBy == "":
		return cluster
	default:
		return f.LimitedBy
	}
}

// bar draws figures. It is red without room, and yellow if the queue has borrowed.
func bar(f *v1alpha1.Figures) term.Cell {
	b := term.Bar{
		Used:    f.Allocated.AsApproximateFloat64(),
		Waiting: f.Inqueue.AsApproximateFloat64() + f.Promised.AsApproximateFloat64(),
		Mark:    -1,
	}
	colour := term.Green
	if f.Deserved != nil {
		b.Mark = f.Deserved.AsApproximateFloat64()
		if f.Allocated.Cmp(*f.Deserved) > 0 {
			colour = term.Yellow
		}
	}
	if f.Limit != nil {
		b.Whole = f.Limit.AsApproximateFloat64()
		if f.Allocated.Cmp(*f.Limit) >= 0 {
			colour = term.Red
		}
	}
	if f.Limit == nil && f.Deserved == nil {
		b = term.Bar{} // nothing to compare with
	}
	return term.Cell{Draw: b.Draw, Colour: colour}
}
