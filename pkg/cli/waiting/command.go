// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

const example = `  # The workloads that wait in the namespace of the context
  kubectl devicequota waiting

  # Those of a queue in all namespaces, those with the same reason together
  kubectl devicequota waiting -A --queue llm -o wide`

// command holds the flags.
type command struct {
	*cli.Options
	output        cli.Output
	look          term.Flags
	allNamespaces bool
	queues        []string
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "waiting",
		Short:   "Show which workloads wait, and why",
		Example: example,
		Args:    cobra.NoArgs,
		Long: `Show which workloads wait, by queue, the oldest first, and why.

A terminal shows the beginning of each reason. With -o wide, workloads that wait for the same reason are shown together, with the
reason in full. kubectl devicequota explain says more about one of them.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Remedy(c.run(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "show the workloads of all namespaces")
	flags.StringSliceVar(&c.queues, "queue", nil, "show only these queues")
	cli.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"queue": cli.CompleteQueues(o)})
	return cmd
}

func (c *command) run(ctx context.Context) error {
	namespace := ""
	if !c.allNamespaces {
		var err error
		if namespace, _, err = c.Namespace(); err != nil {
			return err
		}
	}
	scheduler, err := c.Client()
	if err != nil {
		return err
	}
	workloads, err := scheduler.Workloads(ctx, namespace)
	if err != nil {
		return err
	}
	workloads.Items = waiting(workloads.Items, c.queues)
	if printed, err := c.output.Print(c.Out, workloads); printed || err != nil {
		return err
	}
	if len(workloads.Items) == 0 {
		if _, err := cli.CheckNames(ctx, scheduler, c.queues, nil); err != nil {
			return err
		}
		where := "any namespace"
		if namespace != "" {
			where = "namespace " + namespace + "; -A shows all namespaces"
		}
		_, err := fmt.Fprintf(c.ErrOut, "No workload waits in %s.\n", where)
		return err
	}
	v := view{namespaces: c.allNamespaces, now: time.Now()}
	if c.output.Wide() {
		return v.drawGroups(c.Out, workloads, c.look.Style(c.Out))
	}
	return v.draw(c.Out, workloads, c.look.Style(c.Out))
}
