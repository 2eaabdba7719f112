// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// act shows jobs that compete for the quota of their queue.
type act struct {
	title string
	// samples are applied when the act begins, and memberSamples to each cluster where pods run.
	samples, memberSamples []string
	jobs                   []job
	// devices and cards are the queue's quota of DRA devices and of cards of a device plugin.
	devices, cards int
	// pool are nodes for which the act shows the source of their cards.
	pool     []string
	chapters []chapter
}

type job struct {
	name string
	pods int
}

// chapter is a step of an act. It ends when the cluster is in a certain state.
type chapter struct {
	// begin is printed, and samples are applied, when the chapter begins. Both may be empty.
	begin   string
	samples []string
	// end is printed once ended is true.
	end   string
	ended func(state) bool
}

// play runs the chapters of an act and prints every change.
func (a *act) play(ctx context.Context, where *site, out *screen) error {
	reader, err := newReader(where, a)
	if err != nil {
		return err
	}
	out.line(bold, "%s", a.title)
	for _, m := range where.members {
		if err := m.ApplyConfig(ctx, a.memberSamples...); err != nil {
			return err
		}
	}
	if err := where.applier.ApplyConfig(ctx, a.samples...); err != nil {
		return err
	}
	w := &watcher{reader: reader, members: where.members, out: out, began: time.Now()}
	for i, chapter := range a.chapters {
		if chapter.begin != "" {
			out.line(bold, "%s", chapter.begin)
		}
		if err := where.applier.ApplyConfig(ctx, chapter.samples...); err != nil {
			return err
		}
		if i == 0 {
			out.line(dim, "%7s  %-7s %8s %8s %5s   %s", "time", "job", "running", "waiting", "done", "in use")
		}
		if err := w.until(ctx, where.failed, chapter.ended); err != nil {
			return fmt.Errorf("waiting until %s: %w", chapter.end, err)
		}
		out.line(bold, "         %s", chapter.end)
	}
	return nil
}
