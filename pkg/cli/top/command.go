// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

const example = `  # Everything that queues have used in the last hour
  kubectl devicequota top

  # The devices of one DeviceClass that two queues have used
  kubectl devicequota top --queue llm,vision -d nvidia-h100`

// command holds the flags.
type command struct {
	*cli.Options
	output cli.Output
	look   term.Flags
	selection
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Show how much queues had allocated in the last hour",
		Example: example,
		Args:    cobra.NoArgs,
		Long: `Show how much queues had allocated in the last hour: a line with one value a minute, what it is now, and the lowest, highest, and
average value. The highest value of a line is that of its queue and dimension. The history begins anew when another scheduler
leads.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Remedy(c.run(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.StringSliceVar(&c.queues, "queue", nil, "show only these queues")
	flags.StringSliceVarP(&c.dimensions, "dimension", "d", nil, "show only these DeviceClasses, cards, or resources")
	flags.BoolVar(&c.all, "all", false, "show also what was not used")
	cli.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"queue": cli.CompleteQueues(o), "dimension": cli.CompleteDimensions(o)})
	return cmd
}

func (c *command) run(ctx context.Context) error {
	scheduler, err := c.Client()
	if err != nil {
		return err
	}
	history, err := scheduler.History(ctx)
	if err != nil {
		return err
	}
	history.Items = c.of(history.Items)
	if printed, err := c.output.Print(c.Out, history); printed || err != nil {
		return err
	}
	if len(history.Items) == 0 {
		note, err := cli.CheckNames(ctx, scheduler, c.queues, c.dimensions)
		if err != nil {
			return err
		}
		if len(history.Times) == 0 {
			note = "The scheduler has no history yet: it takes one value a minute."
		} else if note == "" {
			note = "Nothing of that was used in the last hour, as far as the scheduler knows; --all shows that, too."
		}
		_, err = fmt.Fprintln(c.ErrOut, note)
		return err
	}
	return draw(c.Out, history, c.look.Style(c.Out), c.output.Wide())
}
