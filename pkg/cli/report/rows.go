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

// group identifies a row. Properties that do not group rows are empty.
type group struct {
	queue, class, card, namespace, label, day string
	// unit is the counted unit: device, card, or the name of a capacity or resource. Different units cannot be added.
	unit string
}

// row is a row of a report.
type row struct {
	group
	// dimension is one of the dimensions that the row adds up.
	dimension ledger.Dimension
	sums      [3]ledger.Amount
}

// sum adds up the usage of each row. If parents has the parent of a queue, the usage and the waiting time of the queue count for the parent, too. The
// idle guarantee does not: it is not taken from the guarantee of the parent.
func sum(all []usage, by []string, parents map[string]string) []*row {
	rows := map[group]*row{}
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
			cmp.Compare(a.day, b.day), cmp.Compare(a.queue, b.queue), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.label, b.label),
			cmp.Compare(a.unit, b.unit), cmp.Compare(a.class, b.class), cmp.Compare(a.card, b.card),
		)
	})
}

func add(rows map[group]*row, u *usage, queue string, by []string) {
	g := groupOf(u, queue, by)
	if rows[g] == nil {
		rows[g] = &row{group: g, dimension: u.Dimension}
	}
	if total, err := rows[g].sums[u.Measure].Add(u.amount); err == nil {
		rows[g].sums[u.Measure] = total
	}
}

func groupOf(u *usage, queue string, by []string) group {
	g := group{unit: u.Dimension.Unit()}
	labels := maps.Collect(u.Dimension.Labels)
	for _, column := range by {
		switch column {
		case "queue":
			g.queue = queue
		case "class":
			g.class = labels["device_class"]
		case "card":
			g.card = labels["card"]
		case "namespace":
			g.namespace = u.Namespace
		case "label":
			g.label = u.Label
		case "day":
			g.day = u.day.UTC().Format(time.DateOnly)
		}
	}
	return g
}

// value returns the value of a column.
func (r *row) value(column string) string {
	return map[string]string{
		"queue": r.queue, "class": r.class, "card": r.card, "namespace": r.namespace, "label": r.label, "day": r.day,
	}[column]
}
