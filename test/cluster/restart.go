// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
)

// Kill ends a component with SIGKILL, as in a crash. The component stays down until Restart, and is not
// reported as failed.
func (c *Cluster) Kill(name string) error {
	c.mu.Lock()
	p := c.processes[name]
	delete(c.processes, name)
	c.mu.Unlock()
	if p == nil {
		return fmt.Errorf("component %s is not running", name)
	}
	p.kill()
	return nil
}

// Restart starts a component again and waits until it is ready. If the component is running, Restart kills
// it first. The component keeps its ports.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	c.mu.Lock()
	comp, found := c.components[name]
	running := c.processes[name] != nil
	c.mu.Unlock()
	if !found {
		return fmt.Errorf("component %s does not exist", name)
	}
	if running {
		if err := c.Kill(name); err != nil {
			return err
		}
	}
	_, err := c.launch(ctx, comp)
	return err
}
