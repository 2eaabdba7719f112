// SPDX-License-Identifier: Apache-2.0

package demand

// ChargedQueue is the queue that a pod is charged to as long as it runs. It is empty if that has not been decided.
func (p *Pod) ChargedQueue() string { return p.base().chargedQueue }

// RememberQueue notes which queue a pod is charged to as long as it runs. That outlives changes of the pod, and its job.
func (c *Counter) RememberQueue(p *Pod, queue string) {
	base := p.base()
	base.chargedQueue = queue
	c.charged[base.Object.UID] = base
}

// ForgetQueue undoes RememberQueue, for a pod that has no node after all.
func (c *Counter) ForgetQueue(p *Pod) {
	if base := p.base(); base.chargedQueue != "" {
		base.chargedQueue = ""
		delete(c.charged, base.Object.UID)
	}
}

// inheritQueue takes over the queue that the last object of a pod was charged to.
func (c *Counter) inheritQueue(p *Pod) {
	if last := c.charged[p.Object.UID]; last != nil {
		c.RememberQueue(p, last.chargedQueue)
	}
}
