// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/figures"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// draw writes the tree.
func draw(w io.Writer, queues *v1alpha1.QueueList, style term.Style, wide bool) error {
	if len(queues.Cluster) > 0 {
		if err := totals(queues.Cluster).Write(w, style); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	table := &term.Table{Columns: figures.Columns(wide, term.Column{Title: "QUEUE"})}
	children := map[string][]*v1alpha1.Queue{}
	known := map[string]bool{}
	for i := range queues.Items {
		known[queues.Items[i].Name] = true
	}
	for i := range queues.Items {
		queue := &queues.Items[i]
		parent := queue.Parent
		if !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], queue)
	}
	p := &painter{style: style, table: table, children: children, wide: wide}
	for _, queue := range children[""] {
		p.queue(queue, "", "")
	}
	if queues.Snapshot.Incomplete != "" {
		table.Line("", "", term.Cell{Text: "Some figures may be too low: " + queues.Snapshot.Incomplete, Colour: term.Yellow})
	}
	return table.Write(w, style)
}

// totals returns a table of what the cluster has.
func totals(cluster []v1alpha1.Total) *term.Table {
	table := &term.Table{Columns: []term.Column{
		{Title: "CLUSTER"}, {Title: "USE", Min: 8, Max: 20, Drop: 1}, {Title: "USED", Right: true}, {Title: "TOTAL", Right: true}, {Title: "FREE", Right: true},
		{Title: "MOST FREE ON ONE NODE", Right: true},
	}}
	for i := range cluster {
		t := &cluster[i]
		text := func(amount resource.Quantity) term.Cell {
			return term.Cell{Text: cli.FormatAmount(t.Dimension, amount)}
		}
		bar := term.Bar{Used: t.Used.AsApproximateFloat64(), Whole: t.Total.AsApproximateFloat64(), Mark: -1}
		table.Row(term.Cell{Text: t.Dimension.String()}, term.Cell{Draw: bar.Draw, Colour: term.Green}, text(t.Used), text(t.Total), text(t.Free), text(t.LargestFree))
	}
	return table
}

// painter draws queues into a table.
type painter struct {
	style    term.Style
	table    *term.Table
	children map[string][]*v1alpha1.Queue
	wide     bool
}

// queue draws a queue and its descendants. First precedes its name, and later precedes all other lines.
func (p *painter) queue(queue *v1alpha1.Queue, first, later string) {
	children := p.children[queue.Name]
	inside := later + "  "
	if len(children) > 0 {
		inside = later + p.style.Pick("│ ", "| ")
	}
	p.table.Line(first, inside+"  ", term.Cell{Text: headline(queue), Colour: term.Bold})
	for i := range queue.Problems {
		problem := &queue.Problems[i]
		mark, colour := p.style.Pick("✗ ", "! "), term.Red
		if problem.Harmless {
			mark, colour = p.style.Pick("• ", "* "), term.Yellow
		}
		p.table.Line(inside+" "+mark, inside+"   ", term.Cell{Text: problem.Reason + ": " + problem.Message, Colour: colour})
	}
	for i := range queue.Figures {
		f := &queue.Figures[i]
		p.table.Row(figures.Cells(f, p.wide, inside+" "+f.Dimension.String())...)
	}
	for i, child := range children {
		if i < len(children)-1 {
			p.queue(child, later+p.style.Pick("├─ ", "|- "), later+p.style.Pick("│  ", "|  "))
		} else {
			p.queue(child, later+p.style.Pick("└─ ", "`- "), later+"   ")
		}
	}
}

// headline returns the name of a queue, and the numbers of its pods and jobs.
func headline(queue *v1alpha1.Queue) string {
	var parts []string
	if queue.State != "" && queue.State != "Open" {
		parts = append(parts, queue.State)
	}
	if queue.RunningPods > 0 {
		parts = append(parts, count(queue.RunningPods, "pod runs", "pods run"))
	}
	if queue.WaitingPods > 0 {
		parts = append(parts, count(queue.WaitingPods, "pod waits", "pods wait"))
	}
	var jobs []string
	for _, phase := range slices.Sorted(maps.Keys(queue.Jobs)) {
		if n := queue.Jobs[phase]; n > 0 {
			jobs = append(jobs, fmt.Sprintf("%d %s", n, phase))
		}
	}
	if len(jobs) > 0 {
		parts = append(parts, "jobs: "+strings.Join(jobs, ", "))
	}
	if len(parts) == 0 {
		return queue.Name
	}
	return queue.Name + " (" + strings.Join(parts, "; ") + ")"
}

func count(n int32, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
