// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/test/cluster"
)

// runFile returns the file for a process that runs a cluster. Its content is the state folder. Every user
// has a folder with one file for each running devcluster.
func runFile(pid int) string {
	return filepath.Join(runFolder(), strconv.Itoa(pid))
}

func runFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("devcluster-%d", os.Getuid()))
}

func upCommand() *cobra.Command {
	var options cluster.Options
	command := &cobra.Command{
		Use:   "up",
		Short: "Run a control plane in the foreground until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.OnReady = func(component string, took time.Duration) {
				cmd.Printf("%-24s ready in %4.1f s\n", component, took.Seconds())
			}
			return up(cmd, options)
		},
	}
	command.SetOut(os.Stdout)
	flags := command.Flags()
	flags.StringVar(&options.State, "state", "", "folder for all state, which is kept (default: a temporary one that is removed)")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "file to write the administrator's kubeconfig to as well")
	flags.StringArrayVar(&options.Manifests, "manifests", nil, "file or folder to apply once the control plane is ready; may be repeated")
	flags.StringVar(&options.SchedulerConfig, "scheduler-config", "", "configuration of the scheduler (default: the one in config/scheduler)")
	flags.BoolVar(&options.UpstreamScheduler, "upstream-scheduler", false, "run Volcano's own scheduler instead of devicequota's")
	flags.StringVar(&options.Bin, "bin", "", "folder of the control plane's binaries (default: that of this program)")
	return command
}

func up(cmd *cobra.Command, options cluster.Options) error {
	c, err := cluster.Start(cmd.Context(), options)
	if err != nil {
		if cmd.Context().Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	if err := os.MkdirAll(runFolder(), 0o700); err != nil {
		return errors.Join(err, c.Stop())
	}
	file := runFile(os.Getpid())
	if err := os.WriteFile(file, []byte(c.State()), 0o600); err != nil {
		return errors.Join(err, c.Stop())
	}
	defer os.Remove(file)
	cmd.Printf("ready: KUBECONFIG=%s\n", kubeconfigOf(options, c))
	select {
	case <-cmd.Context().Done():
		return c.Stop()
	case err := <-c.Failed():
		return errors.Join(err, c.Stop())
	}
}

func kubeconfigOf(options cluster.Options, c *cluster.Cluster) string {
	if options.Kubeconfig != "" {
		return options.Kubeconfig
	}
	return c.Kubeconfig()
}
