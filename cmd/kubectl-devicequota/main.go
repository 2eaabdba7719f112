// SPDX-License-Identifier: Apache-2.0

// Command kubectl-devicequota is the plugin kubectl devicequota: it shows the scheduler's ledger.
package main

import (
	"errors"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credentials of kubeconfig files

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/explain"
	"github.com/devicequota/devicequota/pkg/cli/holders"
	"github.com/devicequota/devicequota/pkg/cli/lint"
	"github.com/devicequota/devicequota/pkg/cli/report"
	"github.com/devicequota/devicequota/pkg/cli/snapshot"
	"github.com/devicequota/devicequota/pkg/cli/top"
	"github.com/devicequota/devicequota/pkg/cli/tree"
	"github.com/devicequota/devicequota/pkg/cli/version"
	"github.com/devicequota/devicequota/pkg/cli/waiting"
	build "github.com/devicequota/devicequota/pkg/version"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := newCommand(streams).Execute(); err != nil { // the command has printed the error
		var exit *cli.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.Code)
		}
		os.Exit(1)
	}
}

// newCommand returns the command with all its subcommands.
func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	options := cli.NewOptions(streams)
	root := &cobra.Command{
		Use:           "kubectl-devicequota",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl devicequota"},
		Version:       build.Get().String(),
		Short:         "Show how queues use their quotas of devices, cards, and resources",
		SilenceUsage:  true,
		SilenceErrors: false,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	options.AddFlags(root.PersistentFlags())
	root.SetUsageTemplate(usageWithoutGlobalFlags(root.UsageTemplate()))
	root.AddCommand(append(commands(options), newOptions(root))...)
	return root
}

// commands returns the subcommands of the root, sorted by name.
func commands(o *cli.Options) []*cobra.Command {
	return append(schedulersCommands(o),
		explain.New(o),
		holders.New(o),
		lint.New(o),
		report.New(o),
		snapshot.New(o),
		top.New(o),
		tree.New(o),
		version.New(o),
		waiting.New(o),
	)
}

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
