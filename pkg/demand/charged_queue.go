// SPDX-License-Identifier: Apache-2.0

package demand

// ChargedPath returns the queue that a pod is charged to while it runs, followed by its ancestors. It is nil if the queue is not decided yet.
func (p *Pod) ChargedPath() []string { return p.base().chargedPath }

// RememberQueue records the queue that a pod is charged to while it runs, and its ancestors. The record outlives changes of the pod and its job.
func (c *Counter) RememberQueue(p *Pod, path []string) {
	base := p.base()
	base.chargedPath = path
	c.charged[base.Object.UID] = base
}

// ForgetQueue undoes RememberQueue for a pod that did not get a node.
func (c *Counter) ForgetQueue(p *Pod) {
	if base := p.base(); base.chargedPath != nil {
		base.chargedPath = nil
		delete(c.charged, base.Object.UID)
	}
}

// inheritQueue adopts the queue that the previous object of a pod was charged to.
func (c *Counter) inheritQueue(p *Pod) {
	if last := c.charged[p.Object.UID]; last != nil {
		c.RememberQueue(p, last.chargedPath)
	}
}
