// SPDX-License-Identifier: Apache-2.0

// Command demo shows quotas at work on its own control plane. A job that fits its queue's quota runs. Another one waits until the first job
// ends, and an event explains why. The first act has DRA devices, the second one also cards of a device plugin. With --migration, one act
// shows a node that changes from a device plugin to DRA while a job goes on. With --multicluster, one act shows a quota over two clusters of
// a Karmada control plane. The exit code is 0 only if everything happened as described.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// timeout limits the whole demo after the control plane is ready.
const timeout = 2 * time.Minute

func main() {
	shown := show{oneCluster, acts}
	flag.BoolFunc("multicluster", "show a quota over two clusters; needs make build-multicluster", func(string) error {
		shown = show{twoClusters, multiclusterActs}
		return nil
	})
	flag.BoolFunc("migration", "show a node that changes from a device plugin to DRA", func(string) error {
		shown = show{oneCluster, migrationActs}
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &screen{w: os.Stdout, colour: term.IsTerminal(int(os.Stdout.Fd()))}
	if err := shown.run(ctx, out); err != nil {
		out.line(red, "The demo failed: %v", err)
		os.Exit(1)
	}
	out.line(green, "Success: no queue exceeded its quota, the waiting jobs said why, and they ran as soon as there was quota.")
}

// show has acts and their place.
type show struct {
	start func(context.Context, *screen) (*site, error)
	acts  []act
}

func (s show) run(ctx context.Context, out *screen) (err error) {
	where, err := s.start(ctx, out)
	if where != nil {
		defer func() {
			if stopErr := where.stop(); err == nil {
				err = stopErr
			}
		}()
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished within %s", timeout))
	defer cancel()
	for i := range s.acts {
		if err := s.acts[i].play(ctx, where, out); err != nil {
			return err
		}
	}
	return nil
}
