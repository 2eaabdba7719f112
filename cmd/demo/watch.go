// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// watcher polls the jobs of an act and prints what changed.
type watcher struct {
	*reader
	out   *screen
	began time.Time
	last  state
}

// until polls until ended returns true. It fails if the queue exceeds its quota, and when a component
// of the control plane fails or ctx ends.
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
		case now.devices > w.act.devices || now.cards > w.act.cards:
			return fmt.Errorf("the queue uses %s", w.act.inUse(now))
		}
		for _, row := range w.act.rows(time.Since(w.began), w.last, now) {
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
func (a *act) rows(elapsed time.Duration, before, now state) []row {
	if now == before {
		return nil
	}
	var rows []row
	inUse := a.inUse(now)
	for i, job := range a.jobs {
		t := now.jobs[i]
		if !t.submitted {
			continue
		}
		text := fmt.Sprintf("%6.1fs  %-7s %8d %8d %5d   %s", elapsed.Seconds(), job.name, t.running, t.waiting, t.done, inUse)
		rows = append(rows, row{plain, text})
		inUse = "" // once is enough: it is the same for all jobs
		if t.why != "" && t.why != before.jobs[i].why {
			rows = append(rows, row{red, fmt.Sprintf("         %s waits: %s", job.name, t.why)})
		}
	}
	return rows
}

// inUse returns what the queue uses of its quota.
func (a *act) inUse(s state) string {
	text := fmt.Sprintf("%d of %d H100", s.devices, a.devices)
	if a.cards > 0 {
		text += fmt.Sprintf(", %d of %d H800", s.cards, a.cards)
	}
	return text
}
