// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/snapshot"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation"
)

const example = `  # Would this job start now, where, and whom would it evict?
  kubectl devicequota simulate -f job.yaml

  # And with another quota?
  kubectl devicequota simulate -f job.yaml --set team-a.nvidia-h100.count=4

  # What would a smaller quota do to what runs and waits?
  kubectl devicequota simulate --set team-a.nvidia-h100.count=4

  # What does the scheduler do now, and why does each workload wait?
  kubectl devicequota simulate

  # Without the cluster
  kubectl devicequota simulate -f job.yaml --snapshot cluster.yaml.gz`

// waitsCode is the exit code if a workload that was tried does not start.
const waitsCode = 3

// command holds the flags.
type command struct {
	*cli.Options
	output        cli.Output
	look          term.Flags
	files, sets   []string
	snapshot      string
	configuration string
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "simulate",
		Short:   "Show what the scheduler would do if objects were created or quotas changed",
		Example: example,
		Long: `Show what the scheduler would do now if objects were created or quotas changed: what starts, on which nodes and with which
devices, what it is charged, who is evicted, and why the rest waits.

The scheduler itself answers, on a copy of the cluster in memory. Nothing is written. The state comes from the cluster, with the rights of
the user, or from a file of kubectl devicequota snapshot. Without files and --set, it shows what the scheduler does with what there is.

The exit code is 0 if all workloads of the files start, 3 if one waits, and 1 if there is no answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Remedy(c.run(cmd.Context())) },
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.StringArrayVarP(&c.files, "filename", "f", nil, "file with objects that are laid over those of the cluster: jobs, pods, Deployments, queues, claims, nodes, and others; - is standard input; may be repeated")
	flags.StringArrayVar(&c.sets, "set", nil, "quota to change: "+clusterstate.SetSyntax+"; may be repeated")
	flags.StringVar(&c.snapshot, "snapshot", "", "file of kubectl devicequota snapshot to use instead of the cluster")
	flags.StringVar(&c.configuration, "scheduler-conf", "", "file with the scheduler's configuration, or with its ConfigMap, instead of that of the cluster or the snapshot")
	return cmd
}

func (c *command) run(ctx context.Context) error {
	klog.SetLogger(logr.Discard()) // the simulated scheduler logs as a scheduler does
	before, err := c.state(ctx)
	if err != nil {
		return err
	}
	tried, err := c.read()
	if err != nil {
		return err
	}
	tried.adopt(before)
	after := before.Copy()
	after.Lay(tried.state...)
	for _, change := range c.sets {
		if err := after.Set(change); err != nil {
			return fmt.Errorf("--set %w", err)
		}
	}
	if err := checkQuotas(before, after); err != nil {
		return err
	}
	answer, err := c.simulate(ctx, before, after, tried.workloads)
	if err != nil {
		return err
	}
	answer.Ignored = tried.ignored
	if printed, err := c.output.Print(c.Out, answer); printed || err != nil {
		return errors.Join(err, answer.exit())
	}
	if err := answer.draw(c.Out, c.look.Style(c.Out), c.output.Wide()); err != nil {
		return err
	}
	return answer.exit()
}

// simulate runs the simulations before and after the changes. If nothing is tried, it runs only the first.
func (c *command) simulate(ctx context.Context, before, after *clusterstate.State, tried []clusterstate.Object) (*Answer, error) {
	if len(c.files)+len(c.sets) == 0 {
		now, err := simulation.Run(ctx, before, func(*simulation.Workload) bool { return c.explains() })
		if err != nil {
			return nil, err
		}
		return &Answer{Unread: before.Unread, Next: next(now)}, nil
	}
	without, err := simulation.Run(ctx, before, nil)
	if err != nil {
		return nil, err
	}
	with, err := simulation.Run(ctx, after, func(w *simulation.Workload) bool {
		return isTried(w, tried) || len(triedPods(w, tried)) > 0 || c.explains() && differs(w, without)
	})
	if err != nil {
		return nil, err
	}
	return newAnswer(before, without, with, tried), nil
}

// explains reports whether workloads that are not tried need explanations, too.
func (c *command) explains() bool { return c.output.Format != "table" }

// state returns the state to which the changes are applied.
func (c *command) state(ctx context.Context) (*clusterstate.State, error) {
	if c.snapshot != "" {
		state, err := clusterstate.ReadFile(c.snapshot)
		if err == nil && c.configuration != "" {
			err = state.UseConfiguration(c.configuration)
		}
		return state, configured(state, err)
	}
	state, err := snapshot.Read(ctx, c.Options, c.configuration)
	return state, configured(state, err)
}

// configured returns an error if the scheduler's configuration is unknown. A simulation needs it.
func configured(state *clusterstate.State, err error) error {
	if err != nil || state.Configuration != "" {
		return err
	}
	if i := slices.IndexFunc(state.Unread, func(unread string) bool { return strings.HasPrefix(unread, "the scheduler's configuration") }); i >= 0 {
		return errors.New("cannot read " + state.Unread[i])
	}
	return errors.New("the snapshot has no configuration of the scheduler: " + clusterstate.NoConfiguration)
}
