// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
)

// schedulersCommands returns none: Volcano's scheduler cannot be built for Windows.
func schedulersCommands(*cli.Options) []*cobra.Command { return nil }
