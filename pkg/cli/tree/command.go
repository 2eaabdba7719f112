// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

const example = `  # All queues, and the dimensions that quotas limit
  kubectl devicequota tree

  # The queue research and those below it, redrawn whenever something changes
  kubectl devicequota tree research --watch

  # One DeviceClass in all queues
  kubectl devicequota tree -d nvidia-h100`

// command holds the flags.
type command struct {
	*cli.Options
	output cli.Output
	look   term.Flags
	watch  bool
	selection
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "tree [QUEUE]",
		Short:   "Show the tree of queues and how much of their quotas is used",
		Example: example,
		Args:    cobra.MaximumNArgs(1),
		Long: `Show the tree of queues and how much of their quotas is used.

A bar is as long as the limit of the queue. Its parts are what pods hold, what pods are promised and jobs that have been let in
still need, and what is free. The mark is what the queue deserves. The figures of a queue include those of the queues below it.
A narrow terminal shows fewer columns.`,
		ValidArgsFunction: cli.First(cli.CompleteQueues(o)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.queue = args[0]
			}
			return cli.Remedy(c.run(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.StringSliceVarP(&c.dimensions, "dimension", "d", nil, "show only these DeviceClasses, cards, or resources")
	flags.BoolVar(&c.all, "all", false, "show also what no quota limits")
	flags.BoolVarP(&c.watch, "watch", "w", false, "draw again whenever the scheduler has something new")
	cli.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"dimension": cli.CompleteDimensions(o)})
	return cmd
}

func (c *command) run(ctx context.Context) error {
	scheduler, err := c.Client()
	if err != nil {
		return err
	}
	if c.watch {
		return cli.Follow(ctx, scheduler, term.NewScreen(c.Out, c.look.Style), func(w io.Writer, style term.Style) error {
			queues, err := c.fetch(ctx, scheduler)
			if err != nil {
				return err
			}
			return c.print(w, queues, style)
		})
	}
	queues, err := c.fetch(ctx, scheduler)
	if err != nil {
		return err
	}
	if err := c.checkDimensions(ctx, scheduler, queues); err != nil {
		return err
	}
	return c.print(c.Out, queues, c.look.Style(c.Out))
}

// checkDimensions returns an error about a mistyped dimension if the tree has no figures.
func (c *command) checkDimensions(ctx context.Context, scheduler *client.Client, shown *v1alpha1.QueueList) error {
	if len(c.dimensions) == 0 || slices.ContainsFunc(shown.Items, func(q v1alpha1.Queue) bool { return len(q.Figures) > 0 }) {
		return nil
	}
	note, _ := cli.CheckNames(ctx, scheduler, nil, c.dimensions)
	if note == "" {
		return nil
	}
	return errors.New(note)
}

func (c *command) fetch(ctx context.Context, scheduler *client.Client) (*v1alpha1.QueueList, error) {
	queues, err := scheduler.Queues(ctx)
	if err != nil {
		return nil, err
	}
	return c.of(queues)
}

func (c *command) print(w io.Writer, queues *v1alpha1.QueueList, style term.Style) error {
	if printed, err := c.output.Print(w, queues); printed || err != nil {
		return err
	}
	return draw(w, queues, style, c.output.Wide())
}
