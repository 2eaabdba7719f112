// SPDX-License-Identifier: Apache-2.0

// Command devcluster runs a Kubernetes and Volcano control plane on this machine, to try and to test devicequota.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := &cobra.Command{
		Use:           "devcluster",
		Short:         "A Kubernetes and Volcano control plane on this machine, without containers",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(upCommand(), downCommand())
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "devcluster: %v\n", err)
		os.Exit(1)
	}
}
