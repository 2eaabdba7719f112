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

// UseScheduler restarts the scheduler with another configuration file: Volcano's own scheduler if upstream is true, otherwise this project's.
// If config is empty, the scheduler uses the configuration in config/scheduler.
func (c *Cluster) UseScheduler(ctx context.Context, upstream bool, config string) error {
	c.mu.Lock()
	c.options.UpstreamScheduler, c.options.SchedulerConfig = upstream, config
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
