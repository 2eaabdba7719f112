// SPDX-License-Identifier: Apache-2.0

// Command demo shows quotas at work on a control plane of its own: a job that fits its queue's quota
// runs; one that does not waits until the first job ends, and an event on its PodGroup says why. The
// first act has DRA devices, the second one also cards of a device plugin. The exit code is 0 only if
// everything happened as described.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/devicequota/devicequota/test/cluster"
)

// timeout bounds the whole demo once the control plane is ready.
const timeout = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &screen{w: os.Stdout, colour: term.IsTerminal(int(os.Stdout.Fd()))}
	if err := run(ctx, out); err != nil {
		out.line(red, "The demo failed: %v", err)
		os.Exit(1)
	}
	out.line(green, "Success: no queue exceeded its quota, the waiting jobs said why, and they ran as soon as there was quota.")
}

func run(ctx context.Context, out *screen) (err error) {
	out.line(bold, "Starting a control plane on this machine")
	c, err := cluster.Start(ctx, cluster.Options{OnReady: func(component string, took time.Duration) {
		out.line(plain, "  %-24s ready in %4.1f s", component, took.Seconds())
	}})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := c.Stop(); err == nil {
			err = stopErr
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished within %s", timeout))
	defer cancel()
	for i := range acts {
		if err := acts[i].play(ctx, c, out); err != nil {
			return err
		}
	}
	return nil
}
