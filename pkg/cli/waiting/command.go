// SPDX-License-Identifier: Apache-2.0

package waiting

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

const example = `  # The workloads that wait in the namespace of the context
  kubectl devicequota waiting

  # Those of a queue in all namespaces, those with the same reason together
  kubectl devicequota waiting -A --queue llm -o wide

  # Those for which quota is missing, the highest priority first, drawn again whenever something changes
  kubectl devicequota waiting -A --reason InsufficientScalarQuota --sort priority --watch`

// command holds the flags.
type command struct {
	*cli.Options
	output        cli.Output
	look          term.Flags
	allNamespaces bool
	watch         bool
	selection
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

If a quota is the reason, the column WHY says what the queue would hold with the workload, what it may hold, and which queue it is, such as
"nvidia-h100 12/8 in llm". Otherwise, a terminal shows the beginning of the reason. With -o wide, workloads that wait for the same reason
are shown together, with the reason in full. kubectl devicequota explain says more about one of them.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(orders, c.order) {
				return fmt.Errorf("--sort=%s: use %s", c.order, strings.Join(orders, ", "))
			}
			return cli.Remedy(c.run(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "show the workloads of all namespaces")
	flags.StringSliceVar(&c.queues, "queue", nil, "show only these queues")
	flags.StringSliceVar(&c.reasons, "reason", nil, "show only workloads that wait for one of these reasons, such as InsufficientScalarQuota")
	flags.StringVar(&c.order, "sort", byQueue, "what comes first: queue, by name, and the oldest of each; age, the oldest; priority, the highest")
	flags.BoolVarP(&c.watch, "watch", "w", false, "draw again whenever the scheduler has something new")
	cli.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"queue": cli.CompleteQueues(o), "sort": cobra.FixedCompletions(orders, cobra.ShellCompDirectiveNoFileComp)})
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
	if c.watch {
		return cli.Follow(ctx, scheduler, term.NewScreen(c.Out, c.look.Style), func(w io.Writer, style term.Style) error {
			return c.show(ctx, scheduler, namespace, w, w, style)
		})
	}
	return c.show(ctx, scheduler, namespace, c.Out, c.ErrOut, c.look.Style(c.Out))
}

// show writes what waits, or to notes that nothing does. The namespace is empty for all.
func (c *command) show(ctx context.Context, scheduler *client.Client, namespace string, w, notes io.Writer, style term.Style) error {
	workloads, err := scheduler.Workloads(ctx, namespace)
	if err != nil {
		return err
	}
	workloads.Items = c.of(workloads.Items)
	if printed, err := c.output.Print(w, workloads); printed || err != nil {
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
		_, err := fmt.Fprintf(notes, "No workload waits in %s.\n", where)
		return err
	}
	v := view{namespaces: c.allNamespaces, now: time.Now()}
	if c.output.Wide() {
		return v.drawGroups(w, workloads, style)
	}
	return v.draw(w, workloads, style)
}
