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

// NewForReplay returns a scheduler for sessions that the caller runs one by one. A process may create several, one after the other. Volcano's cache
// binds with the client of the first cache in the process. The cache of this scheduler binds with its own client.
func NewForReplay(config *rest.Config, given Config) (*Scheduler, error) {
	// A scheduler replaces an unusable configuration by its default, which leads to other answers.
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

// parseForReplay parses a configuration, and removes the parts that need other servers than the API server: metrics of nodes, and
// extenders.
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

// InFlight returns the number of pods with a binding or an eviction that is not confirmed yet.
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
