// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"
	"strings"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// NewForReplay returns a scheduler whose sessions the caller runs, one by one. A process may make several, one after the other:
// Volcano's cache binds through the client of the first cache of the process, and this one through its own.
func NewForReplay(config *rest.Config, given Config) (*Scheduler, error) {
	// A scheduler replaces a configuration that it cannot use by its default, which has other answers.
	if _, err := parseForReplay(given.Configuration); err != nil {
		return nil, fmt.Errorf("the scheduler's configuration cannot be used: %w", err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := setFeatureGates(client, utilfeature.DefaultMutableFeatureGate); err != nil {
		return nil, fmt.Errorf("set the feature gates for the cluster: %w", err)
	}
	metrics.InitKubeSchedulerRelatedMetrics()
	made, err := New(config, given)
	if err != nil {
		return nil, err
	}
	made.cache.Binder = schedulercache.NewDefaultBinder(made.cache.Client(), made.cache.Recorder)
	return made, nil
}

// parseForReplay reads a configuration without what makes a scheduler ask servers other than the API server: those with the usage of
// nodes, and extenders.
func parseForReplay(text string) (*configuration, error) {
	c, err := parse(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	c.metrics = nil
	for i := range c.tiers {
		c.tiers[i].Plugins = slices.DeleteFunc(c.tiers[i].Plugins, func(p conf.PluginOption) bool { return p.Name == "extender" })
	}
	return c, nil
}

// InFlight returns how many pods are being bound or evicted, and are not known yet to be.
func (s *Scheduler) InFlight() int {
	s.cache.Lock()
	defer s.cache.Unlock()
	n := len(s.cache.BindFlowChannel)
	for _, job := range s.cache.Jobs {
		n += len(job.TaskStatusIndex[api.Allocated]) + len(job.TaskStatusIndex[api.Binding])
		for _, task := range job.TaskStatusIndex[api.Releasing] {
			if task.Pod.DeletionTimestamp == nil {
				n++
			}
		}
	}
	return n
}
