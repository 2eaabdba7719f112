// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/devicequota/devicequota/pkg/version"
)

func init() { metrics.Registry.MustRegister(version.Metric()) }

// New returns the command of a server. It has the flags of addFlags, the flags of klog, and --version, and takes no arguments.
func New(name, short string, addFlags func(*pflag.FlagSet), run func(context.Context) error) *cobra.Command {
	c := &cobra.Command{
		Use:           name,
		Short:         short,
		Version:       version.Get().String(),
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return run(c.Context()) },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.SetVersionTemplate("{{.Version}}\n")
	addFlags(c.Flags())
	logging := flag.NewFlagSet(name, flag.ContinueOnError)
	klog.InitFlags(logging)
	c.Flags().AddGoFlagSet(logging)
	return c
}

// Main runs a command until it ends, or until the process gets a signal. The process exits with 1 if the command fails.
func Main(c *cobra.Command) {
	ctrl.SetLogger(klog.Background())
	err := c.ExecuteContext(ctrl.SetupSignalHandler())
	klog.Flush()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name(), err)
		os.Exit(1)
	}
}
