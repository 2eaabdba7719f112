// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

const (
	byQueue    = "queue"
	byAge      = "age"
	byPriority = "priority"
)

var orders = []string{byQueue, byAge, byPriority}

// selection says which workloads to show, and in which order. It selects all queues and reasons if it names none.
type selection struct {
	queues, reasons []string
	order           string
}

// of returns the waiting workloads of a selection. They come from the scheduler sorted by age.
func (s *selection) of(workloads []v1alpha1.Workload) []v1alpha1.Workload {
	selected := []v1alpha1.Workload{}
	for i := range workloads {
		w := &workloads[i]
		if w.Waits != nil && (len(s.queues) == 0 || slices.Contains(s.queues, w.Queue)) && (len(s.reasons) == 0 || slices.Contains(s.reasons, w.Waits.Reason)) {
			selected = append(selected, *w)
		}
	}
	switch s.order {
	case byQueue:
		slices.SortStableFunc(selected, func(a, b v1alpha1.Workload) int { return cmp.Compare(a.Queue, b.Queue) })
	case byPriority:
		slices.SortStableFunc(selected, func(a, b v1alpha1.Workload) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	return selected
}

// view says how to show workloads.
type view struct {
	namespaces bool
	now        time.Time
}

// draw writes one line for each workload.
func (v view) draw(w io.Writer, workloads *v1alpha1.WorkloadList, style term.Style) error {
	table := &term.Table{Columns: v.columns(term.Column{Title: "QUEUE"}, term.Column{Title: "REASON", Drop: 2}, term.Column{Title: "WHY", Cut: true, Min: 24})}
	for i := range workloads.Items {
		workload := &workloads.Items[i]
		cells := append([]term.Cell{{Text: workload.Queue}}, v.cells(workload)...)
		table.Row(append(cells, term.Cell{Text: cli.OrDash(workload.Waits.Reason)}, term.Cell{Text: why(workload.Waits)})...)
	}
	return table.Write(w, style)
}

// why returns what a queue would hold and may hold, if that is the reason, or the message of the scheduler.
func why(r *v1alpha1.Refusal) string {
	if r.Dimension == nil || r.Limit == "" {
		return r.Message
	}
	return fmt.Sprintf("%s %s/%s in %s", r.Dimension, r.WouldBe, r.Limit, r.Queue)
}

// columns returns the columns that identify a workload, with one column before and others after them.
func (v view) columns(before term.Column, after ...term.Column) []term.Column {
	columns := []term.Column{before}
	if v.namespaces {
		columns = append(columns, term.Column{Title: "NAMESPACE"})
	}
	columns = append(columns, term.Column{Title: "WORKLOAD"}, term.Column{Title: "PHASE", Drop: 1}, term.Column{Title: "PODS", Right: true, Drop: 3}, term.Column{Title: "AGE"})
	return append(columns, after...)
}

func (v view) cells(w *v1alpha1.Workload) []term.Cell {
	var cells []term.Cell
	if v.namespaces {
		cells = append(cells, term.Cell{Text: w.Namespace})
	}
	return append(cells, term.Cell{Text: name(w)}, term.Cell{Text: cli.OrDash(w.Phase)}, term.Cell{Text: pods(w)}, term.Cell{Text: cli.FormatAge(&w.Created, v.now)})
}

// name returns the name of the owner if users can explain the owner, or the name of the PodGroup.
func name(w *v1alpha1.Workload) string {
	if w.Owner != nil && (w.Owner.Kind == "Job" || w.Owner.Kind == "Pod") {
		return cli.FormatObject(*w.Owner)
	}
	return cli.FormatObject(v1alpha1.Object{Kind: "PodGroup", Name: w.Name})
}

// pods returns how many pods run, and how many must run or exist.
func pods(w *v1alpha1.Workload) string {
	all := int32(0)
	for _, n := range w.Pods {
		all += n
	}
	return fmt.Sprintf("%d/%d", w.Pods["Running"], max(all, w.MinMember))
}

// group identifies workloads of one queue that wait for the same reason.
type group struct {
	queue, reason, message string
	dimension              v1alpha1.Dimension
}

// groupOf returns the group of a workload. It leaves out the numbers of the workload if a quota refuses it.
func groupOf(w *v1alpha1.Workload) group {
	g := group{queue: w.Queue, reason: w.Waits.Reason}
	if w.Waits.Dimension == nil {
		g.message = w.Waits.Message
		return g
	}
	g.dimension = *w.Waits.Dimension
	g.message = "no room for " + g.dimension.String() + " in queue " + w.Waits.Queue
	if w.Waits.Limit != "" {
		g.message += ", which may have " + w.Waits.Limit
	}
	return g
}

// drawGroups writes each reason with the workloads that wait for it.
func (v view) drawGroups(w io.Writer, workloads *v1alpha1.WorkloadList, style term.Style) error {
	var order []group
	members := map[group][]*v1alpha1.Workload{}
	for i := range workloads.Items {
		workload := &workloads.Items[i]
		g := groupOf(workload)
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], workload)
	}
	table := &term.Table{Columns: v.columns(term.Column{Title: "QUEUE"}, term.Column{Title: "PRIORITY", Right: true},
		term.Column{Title: "ASKED FOR", Right: true, Optional: true}, term.Column{Title: "WOULD BE", Right: true, Optional: true}, term.Column{Title: "POD GROUP"})}
	for _, g := range order {
		text := g.message
		if g.reason != "" {
			text = g.reason + ": " + text
		}
		if n := len(members[g]); n > 1 {
			text = fmt.Sprintf("%d workloads wait in queue %s: %s", n, g.queue, text)
		} else {
			text = fmt.Sprintf("1 workload waits in queue %s: %s", g.queue, text)
		}
		table.Line("", "    ", term.Cell{Text: text, Colour: term.Bold})
		for _, workload := range members[g] {
			cells := append([]term.Cell{{Text: "  " + workload.Queue}}, v.cells(workload)...)
			table.Row(append(cells, term.Cell{Text: fmt.Sprint(workload.Priority)}, term.Cell{Text: cli.OrDash(workload.Waits.Requested)},
				term.Cell{Text: cli.OrDash(workload.Waits.WouldBe)}, term.Cell{Text: workload.Name})...)
		}
	}
	return table.Write(w, style)
}
