// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/holders"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// holderGroup has the pods of one workload that hold something in the same way.
type holderGroup struct {
	v1alpha1.Holder // the pod that has held it longest, with the sums of all
	pods            int
}

// byWorkload groups holders. The groups stay in the order of their first holders.
func byWorkload(items []v1alpha1.Holder) []holderGroup {
	var groups []holderGroup
	for i := range items {
		h := &items[i]
		same := func(g holderGroup) bool {
			return h.Kind == "Pod" && g.Kind == h.Kind && g.Namespace == h.Namespace && g.Workload == h.Workload && (h.Workload != "" || h.Name == "" && g.Name == "") &&
				g.Queue == h.Queue && g.State == h.State && g.Borrows == h.Borrows
		}
		at := slices.IndexFunc(groups, same)
		if at < 0 {
			groups = append(groups, holderGroup{*h.DeepCopy(), 1})
			continue
		}
		group := &groups[at]
		group.pods++
		group.Charged, group.Shares = sum(group.Charged, h.Charged), sum(group.Shares, h.Shares)
		if group.Node != h.Node {
			group.Node = ""
		}
	}
	return groups
}

// sum adds amounts to a list.
func sum(to, amounts []v1alpha1.Amount) []v1alpha1.Amount {
	for _, a := range amounts {
		at := slices.IndexFunc(to, func(b v1alpha1.Amount) bool { return a.Dimension == b.Dimension })
		if at < 0 {
			to = append(to, *a.DeepCopy())
			continue
		}
		to[at].Amount.Add(a.Amount)
	}
	return to
}

// holders draws who holds something: a line for each workload, or for each pod if the explanation is wide.
func (d *drawing) holders(items []v1alpha1.Holder) *term.Table {
	if d.wide {
		table := holders.View{Namespaces: true, Wide: true, Now: d.now}.Table(items)
		table.Indent = indent
		return table
	}
	table := &term.Table{Indent: indent, Columns: []term.Column{
		{Title: "NAMESPACE"}, {Title: "NAME"}, {Title: "QUEUE"}, {Title: "HOLDS"}, {Title: "SHARES", Optional: true, Drop: 2}, {Title: "STATE"}, {Title: "SINCE"}, {Title: "NODE", Drop: 1, Optional: true},
	}}
	for _, group := range byWorkload(items) {
		name := cli.FormatObject(group.Object)
		if group.pods > 1 {
			name = fmt.Sprintf("%s and %d more", name, group.pods-1)
		}
		state := string(group.State)
		if group.Borrows {
			state += ", borrowed"
		}
		table.Row(term.Cell{Text: cli.FormatNamespace(group.Object)}, term.Cell{Text: name}, term.Cell{Text: group.Queue}, term.Cell{Text: cli.OrDash(cli.FormatAmounts(group.Charged))},
			term.Cell{Text: cli.OrDash(cli.FormatAmounts(group.Shares))}, term.Cell{Text: state}, term.Cell{Text: cli.FormatAge(group.Since, d.now)}, term.Cell{Text: cli.OrDash(group.Node)})
	}
	return table
}
