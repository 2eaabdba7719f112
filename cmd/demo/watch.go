// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// watcher polls the jobs of an act and prints what changed.
type watcher struct {
	*reader
	members []member
	out     *screen
	began   time.Time
	last    state
}

// until polls until ended returns true. It fails if the queue exceeds its quota, if a component of the control plane fails, or if ctx
// ends.
func (w *watcher) until(ctx context.Context, failed <-chan error, ended func(state) bool) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		now, err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case now.inUse() > w.act.devices || now.cards > w.act.cards:
			return fmt.Errorf("the queue uses %s", w.act.inUse(now, w.members))
		}
		for _, row := range w.act.rows(time.Since(w.began), w.last, now, w.members) {
			w.out.line(row.look, "%s", row.text)
		}
		w.last = now
		if ended(now) {
			return nil
		}
		select {
		case <-poll.C:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type row struct {
	look style
	text string
}

// rows returns the lines to print after a change: one for each job that has been submitted, and one
// for each new reason why a job waits.
func (a *act) rows(elapsed time.Duration, before, now state, members []member) []row {
	if now.equal(before) {
		return nil
	}
	var rows []row
	inUse := a.inUse(now, members)
	for i, job := range a.jobs {
		t := now.jobs[i]
		if !t.submitted {
			continue
		}
		text := fmt.Sprintf("%6.1fs  %-7s %8d %8d %5d   %s", elapsed.Seconds(), job.name, t.running, t.waiting, t.done, inUse)
		rows = append(rows, row{plain, text})
		inUse = "" // once is enough, because it is the same for all jobs
		if t.why != "" && (i >= len(before.jobs) || t.why != before.jobs[i].why) {
			rows = append(rows, row{red, fmt.Sprintf("         %s waits: %s", job.name, t.why)})
		}
	}
	return rows
}

// inUse returns the used part of the queue's quota, with places if there are several clusters.
func (a *act) inUse(s state, members []member) string {
	if len(a.pool) > 0 {
		return a.inUseOfPool(s)
	}
	text := fmt.Sprintf("%d of %d H100", s.inUse(), a.devices)
	if a.cards > 0 {
		text += fmt.Sprintf(", %d of %d H800", s.cards, a.cards)
	}
	if len(members) < 2 {
		return text
	}
	var places []string
	for i, m := range members {
		places = append(places, fmt.Sprintf("%d in %s", s.devices[i], m.name))
	}
	return text + " (" + strings.Join(places, ", ") + ")"
}

// inUseOfPool is inUse for an act that shows the source of its nodes' cards.
func (a *act) inUseOfPool(s state) string {
	var places []string
	for i, node := range a.pool {
		from := "no card"
		switch on := s.pool[i]; {
		case on.plugin > 0 && on.dra > 0:
			from = fmt.Sprintf("%d from the device plugin, %d from DRA", on.plugin, on.dra)
		case on.plugin > 0:
			from = fmt.Sprintf("%d from the device plugin", on.plugin)
		case on.dra > 0:
			from = fmt.Sprintf("%d from DRA", on.dra)
		}
		places = append(places, node+": "+from)
	}
	return fmt.Sprintf("%d of %d H800 (%s)", s.cards, a.cards, strings.Join(places, "; "))
}
