// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/test/cluster"
)

// runFile returns the file for a process that runs a cluster. It contains the path of the state folder. Each user has a folder with one file
// for each running devcluster.
func runFile(pid int) string {
	return filepath.Join(runFolder(), strconv.Itoa(pid))
}

func runFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("devcluster-%d", os.Getuid()))
}

func upCommand() *cobra.Command {
	var options cluster.Options
	var multi multicluster
	var scheduler string
	command := &cobra.Command{
		Use:   "up",
		Short: "Run a control plane in the foreground until interrupted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.OnReady = func(component string, took time.Duration) {
				cmd.Printf("%-32s ready in %4.1f s\n", component, took.Seconds())
			}
			if !multi.karmada && (cmd.Flags().Changed("members") || cmd.Flags().Changed("member-manifests")) {
				return errors.New("--members and --member-manifests need --karmada")
			}
			switch options.Scheduler = cluster.Scheduler(scheduler); options.Scheduler {
			case "ours":
				options.Scheduler = cluster.Ours
			case cluster.Volcano, cluster.Kube:
			default:
				return fmt.Errorf("--scheduler %s: want ours, volcano, or kube", scheduler)
			}
			return up(cmd, options, multi)
		},
	}
	command.SetOut(os.Stdout)
	flags := command.Flags()
	flags.StringVar(&options.State, "state", "", "folder for all state, which is kept (default: a temporary one that is removed)")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "file to write the administrator's kubeconfig to as well")
	flags.StringArrayVar(&options.Manifests, "manifests", nil, "file or folder to apply once the control plane is ready; may be repeated")
	flags.StringVar(&options.SchedulerConfig, "scheduler-config", "", "configuration of the scheduler (default: the one in config/scheduler)")
	flags.StringVar(&scheduler, "scheduler", "ours", "scheduler to run: ours, volcano for Volcano's own, or kube for that of Kubernetes")
	flags.StringVar(&options.Bin, "bin", "", "folder of the control plane's binaries (default: that of this program)")
	flags.BoolVar(&multi.karmada, "karmada", false, "run a Karmada control plane with members; needs make build-multicluster")
	flags.IntVar(&multi.members, "members", 2, "number of clusters that Karmada manages")
	flags.StringArrayVar(&multi.memberManifests, "member-manifests", nil, "file or folder to apply to every member; may be repeated")
	return command
}

// controlPlane is a running cluster or Karmada.
type controlPlane interface {
	State() string
	Kubeconfig() string
	Failed() <-chan error
	Stop() error
}

func up(cmd *cobra.Command, options cluster.Options, multi multicluster) error {
	c, err := start(cmd, options, multi)
	if err != nil {
		if cmd.Context().Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	if err := os.MkdirAll(runFolder(), 0o700); err != nil {
		return errors.Join(err, c.Stop())
	}
	file := runFile(os.Getpid())
	if err := os.WriteFile(file, []byte(c.State()), 0o600); err != nil {
		return errors.Join(err, c.Stop())
	}
	defer os.Remove(file)
	kubeconfig := options.Kubeconfig
	if kubeconfig == "" {
		kubeconfig = c.Kubeconfig()
	}
	cmd.Printf("ready: KUBECONFIG=%s\n", kubeconfig)
	select {
	case <-cmd.Context().Done():
		return c.Stop()
	case err := <-c.Failed():
		return errors.Join(err, c.Stop())
	}
}

// start starts the control planes. It prints the addresses of the scheduler's endpoint and the web page, or the kubeconfigs of members.
func start(cmd *cobra.Command, options cluster.Options, multi multicluster) (controlPlane, error) {
	if !multi.karmada {
		c, err := cluster.Start(cmd.Context(), options)
		if err != nil {
			return nil, err
		}
		if options.Scheduler == cluster.Ours {
			cmd.Printf("scheduler's endpoint: %s\n", c.VisibilityURL())
			cmd.Printf("web page: run kubectl proxy, then open http://localhost:8001%s\n", cluster.WebPage)
		}
		return c, nil
	}
	k, err := multi.start(cmd.Context(), options)
	if err != nil {
		return nil, err
	}
	for _, name := range multi.names() {
		cmd.Printf("%s: KUBECONFIG=%s\n", name, k.Member(name).Kubeconfig())
	}
	return k, nil
}

// multicluster are the options of a Karmada control plane in addition to those of a cluster.
type multicluster struct {
	karmada         bool
	members         int
	memberManifests []string
}

// start starts Karmada with members. The options for a scheduler apply to the members.
func (m multicluster) start(ctx context.Context, options cluster.Options) (*cluster.Karmada, error) {
	karmada := cluster.KarmadaOptions{
		Bin: options.Bin, State: options.State, Kubeconfig: options.Kubeconfig, Manifests: options.Manifests, OnReady: options.OnReady,
	}
	for _, name := range m.names() {
		karmada.Members = append(karmada.Members, cluster.Member{Name: name, Options: cluster.Options{
			Manifests: m.memberManifests, SchedulerConfig: options.SchedulerConfig, Scheduler: options.Scheduler,
		}})
	}
	return cluster.StartKarmada(ctx, karmada)
}

func (m multicluster) names() []string {
	var names []string
	for i := range m.members {
		names = append(names, fmt.Sprint("member", i+1))
	}
	return names
}
