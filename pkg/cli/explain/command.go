// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/term"
)

const example = `  # Why does a pod wait?
  kubectl devicequota explain pod trainer-0

  # Why does a job of Volcano wait? All queues and checks, in full
  kubectl devicequota explain job/trainer -n research -o wide`

// resources maps the names that kubectl accepts for a kind to the resources that can be explained.
var resources = map[string]string{
	"pod": "pods", "pods": "pods", "po": "pods",
	"podgroup": "podgroups", "podgroups": "podgroups", "pg": "podgroups", "podgroups.scheduling.volcano.sh": "podgroups",
	"job": "jobs", "jobs": "jobs", "vcjob": "jobs", "vj": "jobs", "jobs.batch.volcano.sh": "jobs",
}

// command holds the flags.
type command struct {
	*cli.Options
	output cli.Output
	look   term.Flags
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "explain (pod|job|podgroup) NAME | (pod|job|podgroup)/NAME",
		Short:   "Explain why a pod or a workload waits, or where it runs",
		Example: example,
		Args:    cobra.RangeArgs(1, 2),
		Long: `Explain why a pod or a workload waits, or where it runs.

The first line is the state. What follows is the cause, the checks in the order in which the scheduler makes them, how the queues
up to the root stand, what the nodes have, who holds what is missing, and who would have to go. Jobs are those of Volcano.`,
		ValidArgsFunction: complete(o),
		RunE: func(cmd *cobra.Command, args []string) error {
			resource, name, err := subject(args)
			if err != nil {
				return err
			}
			return cli.Remedy(c.run(cmd.Context(), resource, name))
		},
	}
	c.output.AddFlags(cmd.Flags())
	c.look.AddFlags(cmd.Flags())
	return cmd
}

// subject returns the resource and the name in arguments such as pod NAME or pod/NAME.
func subject(args []string) (resource, name string, err error) {
	if len(args) == 1 {
		kind, name, found := strings.Cut(args[0], "/")
		if !found {
			return "", "", fmt.Errorf("%q: name a kind, too, such as pod/%s, job/%s, or podgroup/%s", args[0], args[0], args[0], args[0])
		}
		args = []string{kind, name}
	}
	resource, known := resources[strings.ToLower(args[0])]
	switch {
	case !known:
		return "", "", fmt.Errorf("%q is none of pod, job, and podgroup: the pods of other workloads can be explained", args[0])
	case args[1] == "" || strings.Contains(args[1], "/"):
		return "", "", fmt.Errorf("%q is no name of an object", args[1])
	}
	return resource, args[1], nil
}

func (c *command) run(ctx context.Context, resource, name string) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	scheduler, err := c.Client()
	if err != nil {
		return err
	}
	explanation, err := scheduler.Explain(ctx, resource, namespace, name)
	if err != nil {
		return err
	}
	if printed, err := c.output.Print(c.Out, explanation); printed || err != nil {
		return err
	}
	d := drawing{&term.Page{Out: c.Out, Style: c.look.Style(c.Out)}, c.output.Wide(), time.Now()}
	return d.draw(explanation)
}
