// SPDX-License-Identifier: Apache-2.0

// Command vc-scheduler is Volcano's scheduler with upstream's flags, actions and plugins, in which the plugin capacity is devicequota's. This
// plugin also allocates DRA devices, as the plugin predicates does upstream. The plugin crossquota is added.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	_ "volcano.sh/volcano/pkg/scheduler/util/assert"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity"
	"github.com/devicequota/devicequota/pkg/plugins/crossquota"
	"github.com/devicequota/devicequota/pkg/plugins/nodeorder"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
	"github.com/devicequota/devicequota/pkg/scheduler"
	"github.com/devicequota/devicequota/pkg/version"
	"github.com/devicequota/devicequota/pkg/visibility/server"
	"github.com/devicequota/devicequota/pkg/visibility/ui"
)

func main() {
	// Upstream's plugins register themselves in init functions. A later registration replaces an earlier one.
	ctx, cancel := context.WithCancel(context.Background())
	plugins := capacity.New(ctx)
	for name, builder := range plugins.Builders() {
		framework.RegisterPluginBuilder(name, builder)
	}
	framework.RegisterPluginBuilder(predicates.Name, predicates.NewBuilder(capacity.Name, capacity.CardName))
	framework.RegisterPluginBuilder(crossquota.Name, crossquota.NewBuilder())
	framework.RegisterPluginBuilder(nodeorder.Name, nodeorder.New)
	for _, action := range plugins.Actions() {
		framework.RegisterAction(action)
	}

	visible := server.NewOptions()
	opts, logFlushFrequency := parseFlags(&visible)
	if opts.PrintVersion {
		fmt.Println(version.Get())
		return
	}
	klog.StartFlushDaemon(logFlushFrequency)
	err := run(opts, visible, plugins)
	cancel()
	plugins.Shutdown()
	klog.Flush()
	if err != nil {
		fmt.Fprintf(os.Stderr, "vc-scheduler: %v\n", err)
		os.Exit(1)
	}
}

// parseFlags parses the flags of upstream's vc-scheduler, and those of the visibility server.
func parseFlags(visible *server.Options) (*options.ServerOption, time.Duration) {
	klog.InitFlags(nil)
	flags := pflag.CommandLine
	logFlushFrequency := flags.Duration("log-flush-frequency", 5*time.Second, "Maximum time between log flushes")

	opts := options.NewServerOption()
	opts.AddFlags(flags)
	visible.AddFlags(flags)
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)
	volcanoutil.LeaderElectionDefault(&opts.LeaderElection)
	opts.LeaderElection.ResourceName = volcanoutil.GenerateComponentName(opts.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&opts.LeaderElection, flags)
	opts.RegisterOptions()
	cliflag.InitFlags()
	return opts, *logFlushFrequency
}

func run(opts *options.ServerOption, visible server.Options, plugins *capacity.Plugins) error {
	if err := opts.CheckOptionOrDie(); err != nil {
		return err
	}
	if err := visible.Validate(); err != nil {
		return err
	}
	if opts.CaCertFile != "" && opts.CertFile != "" && opts.KeyFile != "" {
		if err := opts.ParseCAFiles(nil); err != nil {
			return fmt.Errorf("certificates for the server: %w", err)
		}
	}
	return scheduler.Run(scheduler.Config{
		Options: opts, Begin: plugins.Begin, BeforeClose: plugins.Answer, Ready: plugins.Ready,
		Visibility: visible, Publisher: plugins.Publisher(), Page: ui.Handler(),
	})
}
