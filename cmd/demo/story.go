package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/devicequota/devicequota/test/cluster"
)

// act is a story about two jobs and the quota of their queue.
type act struct {
	title string
	// samples are applied when the act begins.
	samples []string
	jobs    [2]jobOf
	// devices and cards are what the queue may hold of devices of DRA and of cards of a device plugin.
	devices, cards int
	chapters       []chapter
}

type jobOf struct {
	name string
	pods int
}

// chapter is something that has to happen. It may begin with samples to apply.
type chapter struct {
	begin   string
	samples []string
	end     string
	ended   func(state) bool
}

var acts = []act{
	{
		title:   "Two nodes with eight H100 each; queue ml-team may hold 8 of them (config/samples/cluster)",
		samples: []string{"samples/cluster", "samples/jobs/claim-template.yaml"},
		jobs:    [2]jobOf{{"first", 6}, {"second", 4}}, devices: 8,
		chapters: []chapter{
			{"Job first: 6 pods with one H100 each (config/samples/jobs)", []string{"samples/jobs/first.yaml"},
				"the first job runs", func(s state) bool { return s.jobs[0].running == 6 }},
			{"Job second: 4 pods with one H100 each", []string{"samples/jobs/second.yaml"},
				"the second job waits and says why, on its PodGroup",
				func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 4 && s.jobs[1].why != "" }},
			{"", nil, "the first job has ended and the second runs", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 4 }},
			{"", nil, "the second job has ended", func(s state) bool { return s.jobs[1].done == 4 && s.devices == 0 }},
		},
	},
	{
		title:   "Two more nodes with eight H800 each, from a device plugin; queue moving-team may hold 8 H800 and 4 H100 (config/samples/mixed)",
		samples: []string{"samples/mixed/nodes.yaml", "samples/mixed/queue.yaml"},
		jobs:    [2]jobOf{{"both", 6}, {"more", 6}}, devices: 4, cards: 8,
		chapters: []chapter{
			{"Job both: 4 pods with an H800 of the device plugin, 2 pods with an H100 of DRA", []string{"samples/mixed/both.yaml"},
				"one job runs on both", func(s state) bool { return s.jobs[0].running == 6 && s.cards == 4 && s.devices == 2 }},
			{"Job more: 6 pods with an H800 each", []string{"samples/mixed/more.yaml"},
				"the job waits for the card quota and says so", func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 6 && s.jobs[1].why != "" }},
			{"", nil, "it runs when the cards are back", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 6 && s.cards == 6 }},
		},
	},
}

// play follows the jobs of an act until all its chapters are told, printing every change.
func (a *act) play(ctx context.Context, c *cluster.Cluster, out *screen) error {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	out.line(bold, "%s", a.title)
	for _, sample := range a.samples {
		if err := apply(ctx, c, sample); err != nil {
			return err
		}
	}
	w := &watcher{act: a, client: client, out: out, began: time.Now()}
	for i, chapter := range a.chapters {
		if chapter.begin != "" {
			out.line(bold, "%s", chapter.begin)
		}
		for _, sample := range chapter.samples {
			if err := apply(ctx, c, sample); err != nil {
				return err
			}
		}
		if i == 0 {
			out.line(dim, "%7s  %-7s %8s %8s %5s   %s", "time", "job", "running", "waiting", "done", "held")
		}
		if err := w.until(ctx, c, chapter.ended); err != nil {
			return fmt.Errorf("waiting until %s: %w", chapter.end, err)
		}
		out.line(bold, "         %s", chapter.end)
	}
	return nil
}

// watcher looks at the jobs again and again, and prints what changed.
type watcher struct {
	act    *act
	client kubernetes.Interface
	out    *screen
	began  time.Time
	last   state
}

func (w *watcher) until(ctx context.Context, c *cluster.Cluster, ended func(state) bool) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		now, err := observe(ctx, w.client, w.act)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case now.devices > w.act.devices || now.cards > w.act.cards:
			return fmt.Errorf("the queue holds %s", w.act.held(now))
		}
		if now != w.last {
			w.show(now)
			w.last = now
		}
		if ended(now) {
			return nil
		}
		select {
		case <-poll.C:
		case err := <-c.Failed():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *watcher) show(now state) {
	for i, job := range w.act.jobs {
		held := ""
		if i == 0 {
			held = w.act.held(now)
		}
		w.out.line(plain, "%6.1fs  %-7s %8d %8d %5d   %s", time.Since(w.began).Seconds(), job.name, now.jobs[i].running, now.jobs[i].waiting, now.jobs[i].done, held)
		if why := now.jobs[i].why; why != "" && why != w.last.jobs[i].why {
			w.out.line(red, "         %s waits: %s", job.name, why)
		}
	}
}

// held says what the queue holds.
func (a *act) held(s state) string {
	held := fmt.Sprintf("%d of %d H100", s.devices, a.devices)
	if a.cards > 0 {
		held += fmt.Sprintf(", %d of %d H800", s.cards, a.cards)
	}
	return held
}
