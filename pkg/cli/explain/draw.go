// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/figures"
	"github.com/devicequota/devicequota/pkg/cli/holders"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

// indent is the number of blanks before the lines of a section.
const indent = 2

// drawing writes the sections of an explanation. It leaves out empty sections.
type drawing struct {
	*term.Page
	wide bool
	now  time.Time
}

// Draw writes an explanation without its first line and its cause, for callers that have printed both. It shows the checks that decide, the queues,
// the nodes, the holders of the missing amounts, and the victims.
func Draw(page *term.Page, wide bool, now time.Time, e *v1alpha1.Explanation) {
	d := drawing{page, wide, now}
	d.reasons(e)
}

func (d *drawing) draw(e *v1alpha1.Explanation) error {
	d.Text("", headline(e), stateColour(e.State))
	if e.Cause != nil {
		d.Text("  ", "Cause: "+cause(e.Cause), term.Red)
	}
	d.reasons(e)
	return d.Err
}

// reasons writes an explanation without its state and its cause.
func (d *drawing) reasons(e *v1alpha1.Explanation) {
	if e.Snapshot.Incomplete != "" {
		d.Text("  ", "The scheduler does not know everything yet: "+e.Snapshot.Incomplete, term.Yellow)
	}
	for _, amounts := range []struct {
		what    string
		amounts []v1alpha1.Amount
	}{{"Asks for", e.Asked}, {"Is charged", e.Charged}} {
		if len(amounts.amounts) > 0 {
			d.Text("  ", amounts.what+": "+cli.FormatAmounts(amounts.amounts), "")
		}
	}
	if len(e.Devices) > 0 {
		d.Text("  ", "Devices: "+cli.FormatDevices(e.Devices, ", "), "")
	}
	if len(e.Checks) > 0 {
		d.section("Checks, in the order of the scheduler", d.checks(e.Checks, indent))
	}
	if standings := d.matter(e); len(standings) > 0 {
		d.section("Queues, from its own to the root", d.standings(standings))
	}
	if len(e.Nodes) > 0 {
		d.section("Nodes", d.nodes(e.Nodes))
	}
	d.supplies(e.Supplies)
	if len(e.Holders) > 0 {
		d.section("Who holds what is missing", d.holders(e.Holders))
		if e.MoreHolders > 0 {
			d.Text("  ", fmt.Sprintf("and %d more; kubectl devicequota holders -A lists all", e.MoreHolders), "")
		}
	}
	d.eviction(e.Eviction)
	if last := e.LastEviction; last != nil {
		d.title("Last eviction")
		d.Text("  ", fmt.Sprintf("%s ago, pod %s: %s", cli.FormatAge(&last.Time, e.Snapshot.Time.Time), last.Pod, last.Message), "")
	}
	d.pods(e.Pods)
}

// section writes a title and a table.
func (d *drawing) section(title string, table *term.Table) {
	d.title(title)
	d.Table(table)
}

func (d *drawing) title(title string) {
	d.Text("", "", "")
	d.Text("", title, term.Bold)
}

// headline returns a line with the state of the subject.
func headline(e *v1alpha1.Explanation) string {
	var does string
	switch e.State {
	case v1alpha1.Waiting:
		does = "waits"
	case v1alpha1.Promised:
		does = "waits for others to leave the node " + e.Node + ", which is promised to it"
	case v1alpha1.Running:
		does = "runs"
		if e.Node != "" {
			does += " on the node " + e.Node
		}
	case v1alpha1.Releasing:
		does = "is leaving"
		if e.Node != "" {
			does += " the node " + e.Node
		}
	case v1alpha1.Ended:
		does = "has ended and holds nothing"
	case v1alpha1.Gated:
		does = "is kept from being scheduled by its scheduling gates"
	case v1alpha1.NotScheduled:
		does = "is for another scheduler"
	default:
		does = "is in the state " + string(e.State)
	}
	text := cli.FormatObject(e.Subject) + " in namespace " + e.Subject.Namespace + " " + does
	if e.Queue != "" {
		text += "; its queue is " + e.Queue
	}
	return text
}

func stateColour(state v1alpha1.State) term.Colour {
	switch state {
	case v1alpha1.Waiting, v1alpha1.Gated, v1alpha1.NotScheduled:
		return term.Red
	case v1alpha1.Promised, v1alpha1.Releasing:
		return term.Yellow
	default:
		return term.Green
	}
}

func cause(r *v1alpha1.Refusal) string {
	text := r.Message
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

// checks draws one line for each check: its result, its name, and its message.
func (d *drawing) checks(checks []v1alpha1.Check, indent int) *term.Table {
	widest := 0
	for i := range checks {
		widest = max(widest, term.Width(checks[i].Name))
	}
	table := &term.Table{Indent: indent}
	for i := range checks {
		check := &checks[i]
		mark, colour := d.mark(check.Result)
		first := mark + " " + check.Name + strings.Repeat(" ", widest-term.Width(check.Name)+2)
		table.Line(first, strings.Repeat(" ", term.Width(first)), term.Cell{Text: check.Message, Colour: colour})
	}
	return table
}

// mark returns the mark of a result. All marks of a style have the same width.
func (d *drawing) mark(result v1alpha1.Result) (string, term.Colour) {
	switch result {
	case v1alpha1.Passed:
		return d.Style.Pick("✓", "ok"), ""
	case v1alpha1.Failed:
		return d.Style.Pick("✗", "no"), term.Red
	default:
		return d.Style.Pick("-", "- "), term.Dim
	}
}

// matter returns the standings to show: those in the dimension of the cause or, without one, those with a limit or a quota. Wide explanations show
// all standings.
func (d *drawing) matter(e *v1alpha1.Explanation) []v1alpha1.Standing {
	return slices.DeleteFunc(slices.Clone(e.Standings), func(s v1alpha1.Standing) bool {
		switch f := &s.Figures; {
		case d.wide:
			return false
		case e.Cause != nil && e.Cause.Dimension != nil:
			return f.Dimension != *e.Cause.Dimension
		default:
			return f.Limit == nil && f.Deserved == nil && f.Guarantee == nil
		}
	})
}

func (d *drawing) standings(standings []v1alpha1.Standing) *term.Table {
	table := &term.Table{Indent: indent, Columns: figures.Columns(d.wide, term.Column{Title: "QUEUE"}, term.Column{Title: "DIMENSION"})}
	for i := range standings {
		s := &standings[i]
		table.Row(figures.Cells(&s.Figures, d.wide, s.Queue, s.Figures.Dimension.String())...)
	}
	return table
}

// holders draws who holds something: a line for each workload, or for each pod if the explanation is wide.
func (d *drawing) holders(items []v1alpha1.Holder) *term.Table {
	table := holders.View{Namespaces: true, Grouped: !d.wide, Wide: d.wide, Now: d.now}.Table(items)
	table.Indent = indent
	return table
}

func (d *drawing) eviction(e *v1alpha1.Eviction) {
	if e == nil {
		return
	}
	title := "What would have to go"
	if e.Rule != "" {
		title += ", by " + e.Rule
	}
	colour := term.Red
	if e.Possible {
		colour = ""
	}
	d.title(title)
	d.Text("  ", e.Message, colour)
	if len(e.Victims) > 0 {
		d.Table(d.holders(e.Victims))
	}
}

// pods draws the reasons why pods of a workload wait.
func (d *drawing) pods(answers []v1alpha1.PodsAnswer) {
	if len(answers) == 0 {
		return
	}
	d.title("Pods")
	for i := range answers {
		answer := &answers[i]
		who := cli.FormatObject(answer.Example)
		if answer.Count > 1 {
			who = fmt.Sprintf("%d pods, such as %s", answer.Count, who)
		}
		d.Text("  ", who+": "+string(answer.State)+": "+cause(&answer.Cause), "")
		if len(answer.Checks) > 0 {
			d.Table(d.checks(answer.Checks, 2*indent))
		}
	}
}
