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

var acts = []act{
	{
		title:   "Two nodes with eight H100 each; queue ml-team may use 8 of them (config/samples/cluster)",
		samples: []string{"samples/cluster", "samples/jobs/claim-template.yaml"},
		jobs:    []job{{"first", 6}, {"second", 4}}, devices: 8,
		chapters: []chapter{
			{"Job first: 6 pods with one H100 each (config/samples/jobs)", []string{"samples/jobs/first.yaml"},
				"the first job runs", func(s state) bool { return s.jobs[0].running == 6 }},
			{"Job second: 4 pods with one H100 each", []string{"samples/jobs/second.yaml"},
				"the second job waits, and its PodGroup has an event that says why",
				func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 4 && s.jobs[1].why != "" }},
			{"", nil, "the first job has ended and the second runs", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 4 }},
			{"", nil, "the second job has ended", func(s state) bool { return s.jobs[1].done == 4 && s.inUse() == 0 }},
		},
	},
	{
		title:   "Two more nodes with eight H800 each, from a device plugin; queue moving-team may use 8 H800 and 4 H100 (config/samples/mixed)",
		samples: []string{"samples/mixed/nodes.yaml", "samples/mixed/queue.yaml"},
		jobs:    []job{{"both", 6}, {"more", 6}}, devices: 4, cards: 8,
		chapters: []chapter{
			{"Job both: 4 pods with an H800 of the device plugin, 2 pods with an H100 of DRA", []string{"samples/mixed/both.yaml"},
				"one job uses both", func(s state) bool { return s.jobs[0].running == 6 && s.cards == 4 && s.inUse() == 2 }},
			{"Job more: 6 pods with an H800 each", []string{"samples/mixed/more.yaml"},
				"the job waits for the card quota and says so", func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 6 && s.jobs[1].why != "" }},
			{"", nil, "the job runs once the first one has released its cards", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 6 && s.cards == 6 }},
		},
	},
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
