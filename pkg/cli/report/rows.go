// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// columns are the properties by which rows can be grouped.
var columns = []string{"queue", "class", "card", "namespace", "label", "day"}

// Group identifies a row. Properties that do not group rows are empty.
type Group struct {
	Queue     string `json:"queue,omitempty"`
	Class     string `json:"class,omitempty"`
	Card      string `json:"card,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Label     string `json:"label,omitempty"`
	Day       string `json:"day,omitempty"`
	// Unit is what is counted: device, card, or the name of a capacity or resource. Different units cannot be added.
	Unit string `json:"unit"`
}

// property returns the property in a column.
func (g *Group) property(column string) *string {
	return map[string]*string{
		"queue": &g.Queue, "class": &g.Class, "card": &g.Card, "namespace": &g.Namespace, "label": &g.Label, "day": &g.Day,
	}[column]
}

// row is a row of a report.
type row struct {
	Group
	// dimension is one of the dimensions that the row adds up.
	dimension ledger.Dimension
	sums      [3]ledger.Amount
}

// sum adds up the usage of each row. If parents has the parent of a queue, the usage and the waiting time of the queue count for the parent, too. The
// idle guarantee does not: it is not taken from the guarantee of the parent.
func sum(all []usage, by []string, parents map[string]string) []*row {
	rows := map[Group]*row{}
	for i := range all {
		u := &all[i]
		add(rows, u, u.Queue, by)
		if u.Measure == accounting.GuaranteedIdle {
			continue
		}
		seen := map[string]bool{u.Queue: true}
		for above, found := parents[u.Queue]; found && !seen[above]; above, found = parents[above] {
			seen[above] = true
			add(rows, u, above, by)
		}
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(a.Day, b.Day), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Label, b.Label),
			cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Card, b.Card),
		)
	})
}

func add(rows map[Group]*row, u *usage, queue string, by []string) {
	g := groupOf(u, queue, by)
	if rows[g] == nil {
		rows[g] = &row{Group: g, dimension: u.Dimension}
	}
	if total, err := rows[g].sums[u.Measure].Add(u.amount); err == nil {
		rows[g].sums[u.Measure] = total
	}
}

func groupOf(u *usage, queue string, by []string) Group {
	labels := maps.Collect(u.Dimension.Labels)
	all := Group{
		Queue: queue, Class: labels["device_class"], Card: labels["card"], Namespace: u.Namespace, Label: u.Label, Day: u.day.UTC().Format(time.DateOnly),
	}
	g := Group{Unit: u.Dimension.Unit()}
	for _, column := range by {
		*g.property(column) = *all.property(column)
	}
	return g
}
