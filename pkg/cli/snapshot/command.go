// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/clusterstate"
)

const example = `  # Write what the scheduler reads to a file, compressed
  kubectl devicequota snapshot -f cluster.yaml.gz

  # For a bug report: without names
  kubectl devicequota snapshot --anonymize -f cluster.yaml.gz`

// command holds the flags.
type command struct {
	*cli.Options
	file, configuration, salt string
	anonymize                 bool
}

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "snapshot",
		Short:   "Write what the scheduler reads of the cluster to a file, for simulate",
		Example: example,
		Long: `Write what the scheduler reads of the cluster to a file that kubectl devicequota simulate --snapshot replays.

It needs the right to list what the scheduler lists. It says what it could not read, and then ends with exit code 3. Environments, images, commands,
configuration of devices, volumes, and most annotations are left out. Secrets and ConfigMaps are not read. The scheduler is
asked for its configuration; without an answer, it is that of ConfigMap volcano-scheduler-configmap.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.Remedy(c.run(cmd.Context())) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.file, "filename", "f", "-", "file to write, compressed if its name ends in .gz; - is standard output")
	flags.BoolVar(&c.anonymize, "anonymize", false,
		"replace names, UIDs, and values of labels by hashes; names of DeviceClasses, resources, cards, and attributes of devices stay")
	flags.StringVar(&c.salt, "salt", "", "salt of the hashes, so that two snapshots have the same; by default, each snapshot has others")
	flags.StringVar(&c.configuration, "scheduler-conf", "", "file with the scheduler's configuration; by default, the scheduler is asked")
	return cmd
}

func (c *command) run(ctx context.Context) error {
	state, err := Read(ctx, c.Options, c.configuration)
	if err != nil {
		return err
	}
	for _, unread := range state.Unread {
		fmt.Fprintln(c.ErrOut, "Not read:", unread)
	}
	if c.anonymize {
		salt := []byte(c.salt)
		if c.salt == "" {
			salt = []byte(rand.Text())
		}
		state = state.Anonymize(salt)
	}
	if err := c.write(state); err != nil {
		return err
	}
	if len(state.Unread) > 0 {
		return &cli.ExitError{Code: cli.ExitPartly, Err: errors.New("the snapshot lacks what is not read: see above")}
	}
	return nil
}

func (c *command) write(state *clusterstate.State) error {
	if c.file == "-" {
		return state.Write(c.Out, c.file)
	}
	// Only the user may read the file, because it names what runs in the cluster.
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(state.Write(file, c.file), file.Close())
}
