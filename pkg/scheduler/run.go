// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"net/http"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credentials of kubeconfig files
	"k8s.io/client-go/rest"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // metrics of requests to the API server

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/kube"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/signals"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/visibility"
	"github.com/devicequota/devicequota/pkg/visibility/server"
)

// Config has the parameters of the scheduler besides its flags.
type Config struct {
	Options *options.ServerOption
	// Configuration replaces the configuration file of the options. If it is empty, the scheduler reads the file.
	Configuration string
	// Begin is called before each session with these plugins, and with what asks for another session soon, at any time. It returns the devices that nodes
	// offer as extended resources in the session, the same object until something changes.
	Begin func(cache schedulercache.Cache, plugins []conf.Tier, news func()) *dra.Offers
	// BeforeClose is called between the actions of a session and the end of the session.
	BeforeClose func(*framework.Session)
	// Ready returns an error about objects that the scheduler cannot read. It must be safe for concurrent use.
	Ready func() error
	// Visibility has the options of the visibility server. There is no server if Publisher is nil.
	Visibility server.Options
	Publisher  *visibility.Publisher
	// Page serves the files of the web page. It may be nil.
	Page http.Handler
}

// Run runs the scheduler until a signal stops the process, which is not an error, or until the scheduler cannot go on.
func Run(config Config) error {
	opts := config.Options
	// The process is healthy while it waits for the API server.
	if opts.EnableHealthz {
		if err := serveHealth(opts, config.Ready); err != nil {
			return fmt.Errorf("serve health on %s: %w", opts.HealthzBindAddress, err)
		}
	}
	cluster, err := kube.BuildConfig(opts.KubeClientOptions)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(cluster, "leader-election"))
	if err != nil {
		return err
	}
	if err := prepare(client, opts); err != nil {
		return err
	}
	lock, err := newLock(client, opts)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	scheduler, err := New(fenced(cluster, lock, opts), config)
	if err != nil {
		return err
	}
	// Plugins of Kubernetes need some of these metrics even if they are not served.
	metrics.InitKubeSchedulerRelatedMetrics()
	if opts.EnableMetrics || opts.EnablePprof {
		go serveMetrics(opts)
	}
	ctx := signals.SetupSignalContext()
	// A replica that does not lead also follows the file. It may start to lead while the file has a mistake.
	go scheduler.configuration.watch(ctx, scheduler.cache.SetMetricsConf)
	answer, withdraw := serveVisibility(ctx, cluster, config, scheduler.configuration.inForce)
	run := func(ctx context.Context) {
		answer(ctx)
		scheduler.Run(ctx)
		<-ctx.Done()
	}
	if !opts.LeaderElection.LeaderElect {
		run(ctx)
	} else {
		lead(ctx, lock, opts, run, withdraw)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	withdraw(ending)
	return nil
}

// prepare sets the feature gates for the cluster, and loads custom plugins.
func prepare(client kubernetes.Interface, opts *options.ServerOption) error {
	if err := setFeatureGates(client.Discovery(), utilfeature.DefaultMutableFeatureGate); err != nil {
		return fmt.Errorf("set the feature gates for the cluster: %w", err)
	}
	if opts.PluginsDir == "" {
		return nil
	}
	if err := framework.LoadCustomPlugins(opts.PluginsDir); err != nil {
		return fmt.Errorf("load custom plugins from %s: %w", opts.PluginsDir, err)
	}
	return nil
}
