// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/devicequota/devicequota/config"
)

const defaultSchedulerConfig = "scheduler/volcano-scheduler.conf"

// UseScheduler replaces the scheduler. If config is empty, Volcano's and ours use the configuration in config/scheduler.
func (c *Cluster) UseScheduler(ctx context.Context, scheduler Scheduler, config string) error {
	c.mu.Lock()
	c.options.Scheduler, c.options.SchedulerConfig = scheduler, config
	c.mu.Unlock()
	if err := c.writeSchedulerConfig(); err != nil {
		return err
	}
	if err := c.Restart(ctx, VolcanoScheduler); err != nil {
		return err
	}
	return c.forwardVisibility(ctx)
}

// SchedulerConfigFile returns the configuration file that the scheduler reads and watches.
func (c *Cluster) SchedulerConfigFile() string { return c.schedulerConfig }

// SchedulerMetricsURL returns the URL of the scheduler's Prometheus metrics. Kubernetes' own serves them only with TLS.
func (c *Cluster) SchedulerMetricsURL() string {
	scheme := "http"
	if c.options.Scheduler == Kube {
		scheme = "https"
	}
	return scheme + "://" + c.addressOf(VolcanoScheduler, 0) + "/metrics"
}

// SchedulerMetrics returns the Prometheus metrics of the scheduler.
func (c *Cluster) SchedulerMetrics(ctx context.Context) ([]byte, error) {
	return c.get(ctx, c.SchedulerMetricsURL())
}

// writeSchedulerConfig writes the configuration into a separate folder, because the scheduler watches the whole folder.
func (c *Cluster) writeSchedulerConfig() error {
	var data []byte
	var err error
	if c.options.SchedulerConfig == "" {
		data, err = config.FS.ReadFile(defaultSchedulerConfig)
	} else {
		data, err = os.ReadFile(c.options.SchedulerConfig)
	}
	if err != nil {
		return fmt.Errorf("scheduler configuration: %w", err)
	}
	folder := filepath.Join(c.state, "scheduler")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	c.schedulerConfig = filepath.Join(folder, "volcano-scheduler.conf")
	// A running scheduler reads the file as soon as it changes, and Volcano's own ends if the file is incomplete.
	complete := filepath.Join(c.state, "volcano-scheduler.conf")
	if err := os.WriteFile(complete, data, 0o600); err != nil {
		return err
	}
	return os.Rename(complete, c.schedulerConfig)
}

// FeatureGates returns the value of --feature-gates with which another scheduler knows all features that a cluster serves.
func FeatureGates() string { return gates }
