// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

const example = `  # Who holds devices of a DeviceClass in the namespace of the context
  kubectl devicequota holders nvidia-h100

  # In all namespaces, those with the most first, and which devices they have
  kubectl devicequota holders nvidia-h100 -A --sort amount -o wide

  # Everything that a queue, and those below it, are charged for
  kubectl devicequota holders -A --queue research`

// command holds the flags.
type command struct {
	*cli.Options
	output        cli.Output
	look          term.Flags
	allNamespaces bool
	queue         string
	order         string
	dimension     string
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "holders [CLASS|CARD|RESOURCE]",
		Aliases: []string{"holder"},
		Short:   "Show who holds what since when",
		Example: example,
		Args:    cobra.MaximumNArgs(1),
		Long: `Show which pods and claims hold devices of a DeviceClass, cards, or a resource, and since when.

Without an argument, it shows everything that they hold. A claim that no pod uses any more still holds its devices.`,
		ValidArgsFunction: cli.First(cli.CompleteDimensions(o)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.order != byAge && c.order != byAmount {
				return fmt.Errorf("--sort=%s: use %s or %s", c.order, byAge, byAmount)
			}
			if len(args) > 0 {
				c.dimension = args[0]
			}
			return cli.Remedy(c.run(cmd.Context()))
		},
	}
	flags := cmd.Flags()
	c.output.AddFlags(flags)
	c.look.AddFlags(flags)
	flags.BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "show the holders in all namespaces")
	flags.StringVar(&c.queue, "queue", "", "show only what this queue and those below it are charged for")
	flags.StringVar(&c.order, "sort", byAge, "who comes first: age, those that have held it longest; amount, those that hold most")
	cli.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"queue": cli.CompleteQueues(o), "sort": cobra.FixedCompletions([]string{byAge, byAmount}, cobra.ShellCompDirectiveNoFileComp)})
	return cmd
}

func (c *command) run(ctx context.Context) error {
	query := client.HolderQuery{Queue: c.queue, Dimension: c.dimension}
	if !c.allNamespaces {
		namespace, _, err := c.Namespace()
		if err != nil {
			return err
		}
		query.Namespace = namespace
	}
	scheduler, err := c.Client()
	if err != nil {
		return err
	}
	holders, err := scheduler.Holders(ctx, query)
	if apierrors.IsNotFound(err) && c.queue != "" {
		if _, missing := cli.CheckNames(ctx, scheduler, []string{c.queue}, nil); missing != nil {
			return missing
		}
	}
	if err != nil {
		return err
	}
	order(holders.Items, c.order, c.dimension)
	if printed, err := c.output.Print(c.Out, holders); printed || err != nil {
		return err
	}
	if len(holders.Items) == 0 {
		return c.nobody(ctx, scheduler, query)
	}
	v := View{Dimension: c.dimension, Namespaces: c.allNamespaces, Wide: c.output.Wide(), Now: time.Now()}
	return v.draw(c.Out, holders, c.look.Style(c.Out))
}

// nobody reports that there is no holder on the error output, as kubectl does.
func (c *command) nobody(ctx context.Context, scheduler *client.Client, query client.HolderQuery) error {
	what, where, note := "anything", "any namespace", ""
	if query.Dimension != "" {
		what = query.Dimension
		note, _ = cli.CheckNames(ctx, scheduler, nil, []string{what})
	}
	if query.Namespace != "" {
		where = "namespace " + query.Namespace + "; -A shows all namespaces"
	}
	_, err := fmt.Fprintln(c.ErrOut, strings.TrimSpace(fmt.Sprintf("Nobody holds %s in %s. %s", what, where, note)))
	return err
}
