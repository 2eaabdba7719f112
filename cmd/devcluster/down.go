// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// downTimeout limits how long a cluster may take to stop.
const downTimeout = 30 * time.Second

func downCommand() *cobra.Command {
	var state string
	command := &cobra.Command{
		Use:   "down",
		Short: "Stop the control planes that `devcluster up` started",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd.Context(), state)
		},
	}
	command.Flags().StringVar(&state, "state", "", "stop only the one with this state folder")
	return command
}

func down(ctx context.Context, state string) error {
	pids, err := running(state)
	if err != nil {
		return err
	}
	if len(pids) == 0 && state != "" {
		return fmt.Errorf("no devcluster is running with state folder %s", state)
	}
	if len(pids) == 0 {
		return errors.New("no devcluster is running")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return waitForEnd(ctx, pids)
}

// running returns the processes that run a cluster, and removes the files of processes that were killed.
func running(state string) ([]int, error) {
	if state != "" {
		var err error
		if state, err = filepath.Abs(state); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(runFolder())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if !isDevcluster(pid) {
			if err := os.Remove(runFile(pid)); err != nil {
				return nil, err
			}
			continue
		}
		itsState, err := os.ReadFile(runFile(pid))
		if err != nil {
			return nil, err
		}
		if state == "" || state == string(itsState) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// isDevcluster reports whether the process is alive and runs this program. The process may have ended,
// and another one may have its number now.
func isDevcluster(pid int) bool {
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	self, selfErr := os.Executable()
	return err == nil && selfErr == nil && filepath.Base(program) == filepath.Base(self)
}

func waitForEnd(ctx context.Context, pids []int) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for _, pid := range pids {
		for isDevcluster(pid) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("process %d has not ended within %s", pid, downTimeout)
			case <-poll.C:
			}
		}
	}
	return nil
}
