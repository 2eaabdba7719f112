// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Scheduler opens a session in each period, or earlier if pods come and go.
type Scheduler struct {
	cache         *schedulercache.SchedulerCache
	nodes         *nodes
	pods          *pods
	begin         func(schedulercache.Cache, []conf.Tier, func()) *dra.Offers
	beforeClose   func(*framework.Session)
	configuration *configurationFile
	pace          *pace
	options       *options.ServerOption
}

// New returns a scheduler that is not started. The caller must have registered the options.
func New(config *rest.Config, given Config) (*Scheduler, error) {
	opts := given.Options
	file := &configurationFile{text: given.Configuration}
	if file.text == "" {
		var err error
		if file, err = newConfigurationFile(opts.SchedulerConf, opts.DisableDefaultSchedulerConfig); err != nil {
			return nil, err
		}
	}
	if err := file.load(); err != nil {
		return nil, err
	}
	made := schedulercache.New(config, opts.SchedulerNames, opts.DefaultQueue, opts.NodeSelector, opts.NodeWorkerThreads, opts.IgnoredCSIProvisioners, opts.ResyncPeriod)
	cache, known := made.(*schedulercache.SchedulerCache)
	if !known {
		return nil, fmt.Errorf("the scheduler's cache is a %T, which cannot show what DRA offers", made)
	}
	if err := setTakenApart(cache); err != nil {
		return nil, err
	}
	shown, err := newNodes(cache)
	if err != nil {
		return nil, err
	}
	paced := newPace(opts.SchedulePeriod, opts.SchedulerNames)
	if given.Publisher != nil {
		paced.asked = given.Publisher.Asked
	}
	counted, err := newPods(cache, paced)
	if err != nil {
		return nil, err
	}
	cache.Evictor = &evictor{
		client: cache.Client(), recorder: cache.Recorder, longest: func() time.Duration { return file.get().longestEnd() }, failed: counted.evictions.failed,
	}
	return &Scheduler{cache: cache, nodes: shown, pods: counted, begin: given.Begin, beforeClose: given.BeforeClose, configuration: file, pace: paced, options: opts}, nil
}

// Run starts the scheduler, and returns when the cache is filled. Sessions end with ctx.
func (s *Scheduler) Run(ctx context.Context) {
	s.Start(ctx)
	go wait.UntilWithContext(ctx, s.runAndRest, 0)
	if s.options.EnableCacheDumper {
		dumper := schedulercache.Dumper{Cache: s.cache, RootDir: s.options.CacheDumpFileDir}
		dumper.ListenForSignal(ctx.Done())
	}
	go serveLogLevel()
}

// Start fills the cache. It runs no session.
func (s *Scheduler) Start(ctx context.Context) {
	s.cache.SetMetricsConf(s.configuration.get().metrics)
	s.cache.Run(ctx.Done())
	s.pods.queues.run(ctx)
	klog.V(2).InfoS("The scheduler runs")
}

func (s *Scheduler) runAndRest(ctx context.Context) {
	s.RunOnce(ctx)
	s.pace.rest(ctx)
}

// RunOnce runs one session. Sessions must not overlap.
func (s *Scheduler) RunOnce(context.Context) {
	klog.V(4).InfoS("A session begins")
	defer klog.V(4).InfoS("The session has ended")
	start := time.Now()
	c := s.configuration.get()
	conf.EnabledActionMap = make(map[string]bool, len(c.actions))
	for _, action := range c.actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	s.nodes.show(s.begin(s.cache, c.tiers, s.pace.announce))

	session := s.pods.open(c)
	defer func() {
		s.pace.worked, s.pace.waits = time.Since(start), s.pods.waiting
		framework.CloseSession(session)
		metrics.UpdateE2eDuration(metrics.Duration(start))
	}()
	for _, action := range c.actions {
		began := time.Now()
		action.Execute(session)
		metrics.UpdateActionDuration(action.Name(), metrics.Duration(began))
	}
	s.beforeClose(session)
}

// serveLogLevel serves a socket that changes the log level while the scheduler runs.
func serveLogLevel() {
	folder := os.Getenv(volcanoutil.SocketDirEnvName)
	if folder == "" {
		folder = volcanoutil.DefaultSocketDir
	}
	volcanoutil.ListenAndServeKlogLogLevel("klog", flag.CommandLine.Lookup("v").Value.String(), folder)
}
