// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/simulate"
)

// schedulersCommands returns the commands that run the scheduler's own code.
func schedulersCommands(o *cli.Options) []*cobra.Command {
	return []*cobra.Command{simulate.New(o)}
}
