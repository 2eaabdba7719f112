package cluster

import "context"

// UseScheduler restarts the scheduler as Volcano's own one or this project's, with another
// configuration; empty means the one in config/scheduler.
func (c *Cluster) UseScheduler(ctx context.Context, upstream bool, config string) error {
	c.mu.Lock()
	c.options.UpstreamScheduler, c.options.SchedulerConfig = upstream, config
	c.mu.Unlock()
	if err := c.writeSchedulerConfig(); err != nil {
		return err
	}
	return c.Restart(ctx, VolcanoScheduler)
}
