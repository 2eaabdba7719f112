// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/spf13/cobra"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runAPIServer(args []string) error {
	return execute(apiserver.NewAPIServerCommand(), args)
}

func runControllerManager(args []string) error {
	return execute(controllermanager.NewControllerManagerCommand(), args)
}

func runScheduler(args []string) error {
	return execute(scheduler.NewSchedulerCommand(), args)
}

func execute(command *cobra.Command, args []string) error {
	command.SetArgs(args)
	return command.Execute()
}

func runKubectl(args []string) error {
	os.Args = append([]string{"kubectl"}, args...) // kubectl looks for the name of a plugin here
	return execute(cmd.NewDefaultKubectlCommand(), args)
}
