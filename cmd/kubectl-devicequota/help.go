// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"

	"github.com/spf13/cobra"
)

// newOptions returns the command that lists the flags of all commands, as in kubectl. These twenty lines would clutter the help of each
// command.
func newOptions(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that all commands have",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			cmd.Printf("All commands have these flags, most of which are kubectl's:\n\n%s", root.PersistentFlags().FlagUsages())
		},
	}
}

// globalFlags is the part of cobra's template that lists inherited flags, and localFlags the part with the command's own flags.
var (
	globalFlags = regexp.MustCompile(`(?s){{if \.HasAvailableInheritedFlags}}.*?{{end}}`)
	localFlags  = regexp.MustCompile(`(?s){{if \.HasAvailableLocalFlags}}.*?{{end}}`)
)

// usageWithoutGlobalFlags replaces the list of the flags of all commands by a reference to it.
func usageWithoutGlobalFlags(template string) string {
	template = globalFlags.ReplaceAllLiteralString(template, "")
	return localFlags.ReplaceAllStringFunc(template, func(flags string) string {
		return "{{if .HasParent}}" + flags + "{{end}}\n\nUse \"kubectl devicequota options\" for a list of the flags that all commands have."
	})
}
