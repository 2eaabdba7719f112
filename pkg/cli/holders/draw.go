// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// Orders of holders.
const (
	byAge    = "age"
	byAmount = "amount"
)

// order sorts holders. They come from the scheduler sorted by age.
func order(holders []v1alpha1.Holder, by, dimension string) {
	if by == byAge {
		return
	}
	slices.SortStableFunc(holders, func(a, b v1alpha1.Holder) int {
		most, less := first(&a, dimension), first(&b, dimension)
		return less.Cmp(most)
	})
}

// first returns the first amount of a holder in a dimension. An empty dimension stands for any.
func first(holder *v1alpha1.Holder, dimension string) resource.Quantity {
	for _, amounts := range [][]v1alpha1.Amount{holder.Charged, holder.Shares} {
		for i := range amounts {
			if dimension == "" || amounts[i].Named(dimension) {
				return amounts[i].Amount
			}
		}
	}
	return resource.Quantity{}
}

// View says how to show holders.
type View struct {
	// Dimension is the name of the dimension to show. If it is empty, all dimensions are shown.
	Dimension string
	// Namespaces adds a column with the namespaces.
	Namespaces bool
	// Grouped shows the pods of one workload in one row.
	Grouped bool
	Wide    bool
	Now     time.Time
}

// Table returns a table of holders.
func (v View) Table(holders []v1alpha1.Holder) *term.Table {
	dimensions := v.dimensions(holders)
	table := &term.Table{Columns: v.columns(dimensions)}
	for _, g := range v.groups(holders) {
		table.Row(v.cells(&g, dimensions)...)
	}
	return table
}

// groups returns the rows.
func (v View) groups(holders []v1alpha1.Holder) []group {
	if v.Grouped {
		return byWorkload(holders)
	}
	each := make([]group, len(holders))
	for i := range holders {
		each[i] = group{holders[i], 1}
	}
	return each
}

func (v View) draw(w io.Writer, holders *v1alpha1.HolderList, style term.Style) error {
	table := v.Table(holders.Items)
	if holders.Snapshot.Incomplete != "" {
		table.Line("", "", term.Cell{Text: "Some holders may be missing: " + holders.Snapshot.Incomplete, Colour: term.Yellow})
	}
	return table.Write(w, style)
}

// dimensions returns the requested dimensions that have a holder. Each gets a column.
func (v View) dimensions(holders []v1alpha1.Holder) []v1alpha1.Dimension {
	if v.Dimension == "" {
		return nil
	}
	var found []v1alpha1.Dimension
	for i := range holders {
		for _, amounts := range [][]v1alpha1.Amount{holders[i].Charged, holders[i].Shares} {
			for _, amount := range amounts {
				if amount.Named(v.Dimension) && !slices.Contains(found, amount.Dimension) {
					found = append(found, amount.Dimension)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b v1alpha1.Dimension) int { return cmp.Compare(a.String(), b.String()) })
	return found
}

func (v View) columns(dimensions []v1alpha1.Dimension) []term.Column {
	columns := []term.Column{{Title: "NAME"}, {Title: "QUEUE"}}
	if v.Namespaces {
		columns = append([]term.Column{{Title: "NAMESPACE"}}, columns...)
	}
	if v.Dimension == "" {
		columns = append(columns, term.Column{Title: "HOLDS"})
	}
	for _, d := range dimensions {
		columns = append(columns, term.Column{Title: d.String(), Right: true})
	}
	columns = append(columns, term.Column{Title: "SHARES", Optional: true, Drop: 2}, term.Column{Title: "STATE"},
		term.Column{Title: "SINCE"}, term.Column{Title: "NODE", Drop: 1, Optional: v.Grouped})
	if v.Wide {
		columns = append(columns, term.Column{Title: "WORKLOAD"}, term.Column{Title: "DEVICES"})
	}
	return columns
}

func (v View) cells(h *group, dimensions []v1alpha1.Dimension) []term.Cell {
	var cells []term.Cell
	add := func(text string) { cells = append(cells, term.Cell{Text: text}) }
	if v.Namespaces {
		add(cli.FormatNamespace(h.Object))
	}
	name, state := cli.FormatObject(h.Object), string(h.State)
	if h.pods > 1 {
		name = fmt.Sprintf("%s and %d more", name, h.pods-1)
	}
	if h.Borrows && v.Grouped {
		state += ", borrowed"
	}
	add(name)
	add(h.Queue)
	if v.Dimension == "" {
		add(cli.OrDash(cli.FormatAmounts(h.Charged)))
	}
	for _, d := range dimensions {
		add(amountOf(h.Charged, d))
	}
	add(cli.OrDash(cli.FormatAmounts(v.asked(h.Shares))))
	add(state)
	add(cli.FormatAge(h.Since, v.Now))
	add(cli.OrDash(h.Node))
	if v.Wide {
		add(cli.OrDash(h.Workload))
		add(cli.OrDash(cli.FormatDevices(h.Devices, ",")))
	}
	return cells
}

// asked returns the amounts in the requested dimension.
func (v View) asked(amounts []v1alpha1.Amount) []v1alpha1.Amount {
	return slices.DeleteFunc(slices.Clone(amounts), func(a v1alpha1.Amount) bool {
		return v.Dimension != "" && !a.Named(v.Dimension)
	})
}

func amountOf(amounts []v1alpha1.Amount, d v1alpha1.Dimension) string {
	for i := range amounts {
		if amounts[i].Dimension == d {
			return cli.FormatAmount(d, amounts[i].Amount)
		}
	}
	return "-"
}
