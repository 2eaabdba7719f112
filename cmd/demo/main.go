// Command demo shows quotas at work: on a control plane of its own, a job that
// fits its queue's quota runs, and one that does not waits, with the reason on its PodGroup,
// until the first gives its devices back; first with devices of DRA, then with those and cards of a device
// plugin. It exits with 0 only if that is what happened.
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

// patience bounds the whole demo once the control plane is ready.
const patience = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &screen{w: os.Stdout, colour: term.IsTerminal(int(os.Stdout.Fd()))}
	if err := run(ctx, out); err != nil {
		out.line(red, "The demo failed: %v", err)
		os.Exit(1)
	}
	out.line(green, "As it should be: the quotas held, the jobs that waited were told why, and they ran when their turn came.")
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
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not finished within %s", patience))
	defer cancel()
	for i := range acts {
		if err := acts[i].play(ctx, c, out); err != nil {
			return err
		}
	}
	return nil
}
