package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	firstPods  = 6
	secondPods = 4
	quota      = 8
)

// chapters are what has to happen, in this order. Each may begin with samples to apply.
var chapters = []struct {
	begin   string
	samples []string
	end     string
	ended   func(state) bool
}{
	{
		begin:   "Job first: 6 pods with one H100 each (config/samples/jobs)",
		samples: []string{"samples/jobs/claim-template.yaml", "samples/jobs/first.yaml"},
		end:     "the first job runs",
		ended:   func(s state) bool { return s.first.running == firstPods },
	},
	{
		begin:   "Job second: 4 pods with one H100 each",
		samples: []string{"samples/jobs/second.yaml"},
		end:     "the second job waits and says why, on its PodGroup",
		ended: func(s state) bool {
			return s.first.running == firstPods && s.second.waiting == secondPods && s.second.why != ""
		},
	},
	{
		end:   "the first job has ended and the second runs",
		ended: func(s state) bool { return s.first.done == firstPods && s.second.running == secondPods },
	},
	{
		end:   "the second job has ended",
		ended: func(s state) bool { return s.second.done == secondPods },
	},
}

// tell follows the jobs until all chapters are told, printing every change.
func tell(ctx context.Context, c *cluster.Cluster, out *screen) error {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	watcher := &watcher{client: client, out: out, began: time.Now()}
	for i, chapter := range chapters {
		if chapter.begin != "" {
			out.line(bold, "%s", chapter.begin)
		}
		for _, sample := range chapter.samples {
			if err := apply(ctx, c, sample); err != nil {
				return err
			}
		}
		if i == 0 {
			out.line(dim, "%7s  %-7s %8s %8s %5s   %s", "time", "job", "running", "waiting", "done", "H100 held by ml-team")
		}
		if err := watcher.until(ctx, c, chapter.ended); err != nil {
			return fmt.Errorf("waiting until %s: %w", chapter.end, err)
		}
		out.line(bold, "         %s", chapter.end)
	}
	return nil
}

// watcher looks at the jobs again and again, and prints what changed.
type watcher struct {
	client kubernetes.Interface
	out    *screen
	began  time.Time
	last   state
}

func (w *watcher) until(ctx context.Context, c *cluster.Cluster, ended func(state) bool) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		now, err := observe(ctx, w.client)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case now.devices > quota:
			return fmt.Errorf("ml-team holds %d devices, although its quota is %d", now.devices, quota)
		}
		if now != w.last {
			show(w.out, time.Since(w.began), now, w.last)
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

func show(out *screen, since time.Duration, now, last state) {
	row := "%6.1fs  %-7s %8d %8d %5d   %s"
	out.line(plain, row, since.Seconds(), "first", now.first.running, now.first.waiting, now.first.done, fmt.Sprintf("%d of %d", now.devices, quota))
	out.line(plain, row, since.Seconds(), "second", now.second.running, now.second.waiting, now.second.done, "")
	if now.second.why != "" && now.second.why != last.second.why {
		out.line(red, "         second waits: %s", now.second.why)
	}
}
