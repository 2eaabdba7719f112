// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"io"
	"slices"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// narrowest is the least width of a sparkline: the width of its title.
const narrowest = len("LAST HOUR")

// selection holds the choices of the user.
type selection struct {
	queues, dimensions []string
	// all shows unused series, too.
	all bool
}

// of returns the selected series, by queue and dimension.
func (s selection) of(series []v1alpha1.Series) []v1alpha1.Series {
	selected := []v1alpha1.Series{}
	for i := range series {
		one := &series[i]
		if (len(s.queues) == 0 || slices.Contains(s.queues, one.Queue)) && s.wants(one.Dimension) && (s.all || one.Values != nil && slices.Max(one.Values) > 0) {
			selected = append(selected, *one)
		}
	}
	slices.SortStableFunc(selected, func(a, b v1alpha1.Series) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Dimension.String(), b.Dimension.String()))
	})
	return selected
}

func (s selection) wants(d v1alpha1.Dimension) bool {
	return len(s.dimensions) == 0 || slices.ContainsFunc(s.dimensions, d.Named)
}

// use summarizes a series.
type use struct {
	now, lowest, highest, average float64
	// known is the number of known values.
	known int
}

// summary skips unknown values. Now is -1 if the last value is unknown.
func summary(values []float64) use {
	u := use{now: -1}
	sum := 0.0
	for i, value := range values {
		if value < 0 {
			continue
		}
		if u.known == 0 {
			u.lowest, u.highest = value, value
		}
		u.lowest, u.highest = min(u.lowest, value), max(u.highest, value)
		u.known++
		sum += value
		if i == len(values)-1 {
			u.now = value
		}
	}
	if u.known > 0 {
		u.average = sum / float64(u.known)
	}
	return u
}

func draw(w io.Writer, history *v1alpha1.History, style term.Style, wide bool) error {
	table := &term.Table{Columns: []term.Column{
		{Title: "QUEUE"}, {Title: "DIMENSION"}, {Title: "LAST HOUR", Min: narrowest, Max: max(narrowest, len(history.Times))},
		{Title: "NOW", Right: true}, {Title: "MIN", Right: true, Drop: 1}, {Title: "MAX", Right: true}, {Title: "AVERAGE", Right: true, Drop: 2},
	}}
	if wide {
		table.Columns = append(table.Columns, term.Column{Title: "KIND"}, term.Column{Title: "SINCE"})
	}
	for i := range history.Items {
		series := &history.Items[i]
		u := summary(series.Values)
		amount := func(value float64) term.Cell {
			if u.known == 0 || value < 0 {
				return term.Cell{Text: "-"}
			}
			return term.Cell{Text: cli.FormatRounded(series.Dimension, value)}
		}
		cells := []term.Cell{
			{Text: series.Queue}, {Text: series.Dimension.String()}, {Draw: term.Sparkline(series.Values).Draw, Colour: term.Green},
			amount(u.now), amount(u.lowest), amount(u.highest), amount(u.average),
		}
		if wide {
			cells = append(cells, term.Cell{Text: string(series.Kind)}, term.Cell{Text: since(history, series)})
		}
		table.Row(cells...)
	}
	return table.Write(w, style)
}

// since returns the time of the first known value.
func since(history *v1alpha1.History, series *v1alpha1.Series) string {
	first := slices.IndexFunc(series.Values, func(value float64) bool { return value >= 0 })
	if first < 0 || first >= len(history.Times) {
		return "-"
	}
	return history.Times[first].UTC().Format("15:04Z07:00")
}
