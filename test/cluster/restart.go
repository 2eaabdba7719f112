// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
)

// Kill ends a component with SIGKILL, as in a crash. The component stays down until Restart, and is not reported as failed.
func (c *controlPlane) Kill(name string) error {
	return c.end(name, (*process).kill)
}

// terminate is like Kill, but gives the component time to end by itself, as in a rolling update.
func (c *controlPlane) terminate(name string) error {
	return c.end(name, (*process).terminate)
}

func (c *controlPlane) end(name string, how func(*process)) error {
	p, err := c.release(name)
	if err == nil {
		how(p)
	}
	return err
}

// release returns the process of a component. When the process ends, it is not reported as failed.
func (c *controlPlane) release(name string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[name]
	if p == nil {
		return nil, fmt.Errorf("component %s is not running", name)
	}
	delete(c.processes, name)
	return p, nil
}

// Restart starts a component again and waits until it is ready. It kills a running component first. The component keeps its ports.
func (c *controlPlane) Restart(ctx context.Context, name string) error {
	c.mu.Lock()
	comp, found := c.components[name]
	running, ports := c.processes[name] != nil, c.ports[name]
	c.mu.Unlock()
	if !found {
		return fmt.Errorf("component %s does not exist", name)
	}
	if running {
		if err := c.Kill(name); err != nil {
			return err
		}
	}
	if err := awaitPorts(ctx, ports); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	_, err := c.launch(ctx, comp)
	return err
}
