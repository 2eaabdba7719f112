// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/explain"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/simulation"
)

// plain is the default colour.
const plain term.Colour = ""

var colours = map[simulation.Verdict]term.Colour{simulation.Starts: term.Green, simulation.Waits: term.Yellow, simulation.Evicted: term.Red}

// draw prints an answer for people.
func (a *Answer) draw(w io.Writer, style term.Style, wide bool) error {
	d := &drawing{term.Page{Out: w, Style: style}, wide, time.Now()}
	for _, workloads := range [][]simulation.Workload{a.Tried, a.Next} {
		for i := range workloads {
			d.workload(&workloads[i])
		}
	}
	if len(a.Others) > 0 {
		d.Text("", "Others:", term.Bold)
	}
	for i := range a.Others {
		d.difference(&a.Others[i])
	}
	if len(a.Tried)+len(a.Others)+len(a.Next) == 0 {
		d.Text("", "Nothing changes.", plain)
	}
	for _, ignored := range a.Ignored {
		d.Text("", "Ignored, because the scheduler does not read it: "+ignored, plain)
	}
	for _, unread := range a.Unread {
		d.Text("", "Not read, so that the answer may be wrong: "+unread, term.Yellow)
	}
	return d.Err
}

// drawing writes an answer line by line.
type drawing struct {
	term.Page
	wide bool
	now  time.Time
}

// explanations prints why a workload waits: the checks that decide, and the missing amounts.
func (d *drawing) explanations(w *simulation.Workload) {
	for i := range w.Explanations {
		e := w.Explanations[i]
		if e.Subject.Kind == "Pod" {
			d.Text("", "", plain)
			d.Text("", "One of its pods, "+cli.FormatObject(e.Subject), term.Bold)
			e.Holders, e.Eviction = nil, nil // the explanation of the workload shows both
		}
		explain.Draw(&d.Page, d.wide, d.now, &e)
	}
	if len(w.Explanations) > 0 {
		d.Text("", "", plain)
	}
}

func (d *drawing) evicted(indent string, w *simulation.Workload) {
	if len(w.Evicted) > 0 {
		d.Text(indent, "Evicted: "+strings.Join(w.Evicted, ", "), plain)
	}
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func nameOf(w *simulation.Workload) string {
	return strings.ToLower(w.Kind) + "/" + w.Name + " in namespace " + w.Namespace
}

var sentences = map[simulation.Verdict]string{
	simulation.Runs: "runs", simulation.Starts: "would start", simulation.Waits: "would wait", simulation.Evicted: "would be evicted",
}

func (d *drawing) workload(w *simulation.Workload) {
	queue := ""
	if w.Queue != "" {
		queue = "; its queue is " + w.Queue
	}
	d.Text("", nameOf(w)+" "+sentences[w.Verdict]+queue, colours[w.Verdict])
	if w.Why != nil {
		cause := "Cause: "
		if w.Verdict == simulation.Starts || w.Verdict == simulation.Runs {
			cause = "Not all of its pods: "
		}
		d.Text("  ", cause+w.Why.Message, plain)
	}
	if len(w.Charged) > 0 && len(w.Pods) > 0 {
		d.Text("  ", "Charged: "+cli.FormatAmounts(w.Charged), plain)
	}
	for _, pod := range w.Pods {
		text := pod.Name + " on " + pod.Node
		if len(pod.Devices) > 0 {
			text += " with " + cli.FormatDevices(pod.Devices, ", ")
		}
		if d.wide || !pod.Before {
			d.Text("  ", text, plain)
		}
	}
	d.evicted("  ", w)
	d.explanations(w)
}

func (d *drawing) difference(o *Difference) {
	text := fmt.Sprintf("%s %s with %s", nameOf(&o.Workload), sentences[o.Verdict], pods(len(o.Pods)))
	if o.Verdict == simulation.Evicted || o.Verdict == simulation.Waits {
		text = fmt.Sprintf("%s %s", nameOf(&o.Workload), sentences[o.Verdict])
	}
	d.Text("  ", fmt.Sprintf("%s; otherwise it %s with %s", text, sentences[o.Without], pods(o.PodsWithout)), colours[o.Verdict])
	d.evicted("    ", &o.Workload)
	if o.Why != nil {
		d.Text("    ", "Cause: "+o.Why.Message, plain)
	}
	if d.wide {
		d.explanations(&o.Workload)
	}
}
