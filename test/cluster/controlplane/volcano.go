// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"slices"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"

	controllers "volcano.sh/volcano/cmd/controller-manager/app"
	controlleroptions "volcano.sh/volcano/cmd/controller-manager/app/options"
	scheduler "volcano.sh/volcano/cmd/scheduler/app"
	scheduleroptions "volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/controllers/colocationconfig"
	_ "volcano.sh/volcano/pkg/controllers/cronjob"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/garbagecollector"
	_ "volcano.sh/volcano/pkg/controllers/hypernode"
	_ "volcano.sh/volcano/pkg/controllers/job"
	_ "volcano.sh/volcano/pkg/controllers/jobflow"
	_ "volcano.sh/volcano/pkg/controllers/jobtemplate"
	_ "volcano.sh/volcano/pkg/controllers/podgroup"
	_ "volcano.sh/volcano/pkg/controllers/queue"
	_ "volcano.sh/volcano/pkg/controllers/sharding"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	volcanoutil "volcano.sh/volcano/pkg/util"
)

func runVolcanoControllers([]string) error {
	options := controlleroptions.NewServerOption()
	var names []string
	framework.ForeachController(func(c framework.Controller) { names = append(names, c.Name()) })
	slices.Sort(names)

	startFlags()
	options.AddFlags(pflag.CommandLine, names)
	volcanoutil.LeaderElectionDefault(&options.LeaderElection)
	options.LeaderElection.ResourceName = "vc-controller-manager"
	componentbaseoptions.BindLeaderElectionFlags(&options.LeaderElection, pflag.CommandLine)
	cliflag.InitFlags()
	if err := options.CheckOptionOrDie(); err != nil {
		return err
	}
	return controllers.Run(options)
}

func runVolcanoScheduler([]string) error {
	options := scheduleroptions.NewServerOption()

	startFlags()
	options.AddFlags(pflag.CommandLine)
	volcanoutil.LeaderElectionDefault(&options.LeaderElection)
	options.LeaderElection.ResourceName = volcanoutil.GenerateComponentName(options.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&options.LeaderElection, pflag.CommandLine)
	options.RegisterOptions()
	cliflag.InitFlags()
	if err := options.CheckOptionOrDie(); err != nil {
		return err
	}
	return scheduler.Run(options)
}

// startFlags resets the global flag set, which both of Volcano's programs parse. Packages of other components have registered flags with the
// same names.
func startFlags() {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
	if flag.Lookup("v") == nil {
		klog.InitFlags(nil)
	}
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
}
