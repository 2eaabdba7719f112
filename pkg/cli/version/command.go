// SPDX-License-Identifier: Apache-2.0

package version

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli"
	build "github.com/devicequota/devicequota/pkg/version"
)

// timeout limits how long the scheduler may take to answer.
const timeout = 10 * time.Second

// versions is printed by the command.
type versions struct {
	Client string `json:"client"`
	// Scheduler is nil if the scheduler was not asked, or did not answer.
	Scheduler *v1alpha1.Snapshot `json:"scheduler,omitempty"`
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	var output cli.Output
	var clientOnly bool
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Show the version of this command, and which scheduler answers",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			told := versions{Client: build.Get().Version}
			var silent error // the version of the command is known in any case
			if !clientOnly {
				var err error
				if told.Scheduler, err = ask(cmd.Context(), o); err != nil {
					silent = fmt.Errorf("the scheduler does not answer: %w", cli.Remedy(err))
				}
			}
			printed, err := output.Print(o.Out, told)
			if !printed {
				err = draw(o.Out, told, output.Wide())
			}
			return errors.Join(err, silent)
		},
	}
	output.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask the scheduler")
	return cmd
}

// ask returns the identity of the scheduler that answers.
func ask(ctx context.Context, o *cli.Options) (*v1alpha1.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	scheduler, err := o.Client()
	if err != nil {
		return nil, err
	}
	queues, err := scheduler.Queues(ctx)
	if err != nil {
		return nil, err
	}
	return &queues.Snapshot, nil
}

func draw(w io.Writer, told versions, wide bool) error {
	if _, err := fmt.Fprintf(w, "Client: %s\n", told.Client); err != nil || told.Scheduler == nil {
		return err
	}
	s := told.Scheduler
	if _, err := fmt.Fprintf(w, "Scheduler: %s (%s), %s\n", cli.OrDash(s.Version), cli.OrDash(s.Scheduler), v1alpha1.SchemeGroupVersion); err != nil || !wide {
		return err
	}
	_, err := fmt.Fprintf(w, "Session: %s at %s\n", s.Session, s.Time.UTC().Format(time.RFC3339))
	return err
}
