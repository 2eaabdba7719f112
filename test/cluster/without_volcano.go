// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// startWithoutVolcano starts only kwok.
func (c *Cluster) startWithoutVolcano(ctx context.Context) error {
	rights, err := parseManifests("rbac.yaml", rbac)
	if err != nil {
		return err
	}
	if err := c.applier.apply(ctx, rights); err != nil {
		return err
	}
	return c.run(ctx, c.kwok())
}

// StartVolcanoControllers starts Volcano's controllers in a cluster that was started without Volcano. The cluster must have Volcano's CRDs and
// a running scheduler, which creates the first queues. It returns when the queue default is open.
func (c *Cluster) StartVolcanoControllers(ctx context.Context) error {
	return c.run(ctx, c.volcanoControllers())
}
