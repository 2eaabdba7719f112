// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// UseScheduler restarts the scheduler with another configuration file: Volcano's own scheduler if upstream
// is true, else this project's. If config is empty, the configuration in config/scheduler is used.
func (c *Cluster) UseScheduler(ctx context.Context, upstream bool, config string) error {
	c.mu.Lock()
	c.options.UpstreamScheduler, c.options.SchedulerConfig = upstream, config
	c.mu.Unlock()
	if err := c.writeSchedulerConfig(); err != nil {
		return err
	}
	return c.Restart(ctx, VolcanoScheduler)
}
