// SPDX-License-Identifier: Apache-2.0

package demand

// ChargedQueue returns the queue that a pod is charged to while it runs. It is empty if the queue is not decided yet.
func (p *Pod) ChargedQueue() string { return p.base().chargedQueue }

// RememberQueue records the queue that a pod is charged to while it runs. The record outlives changes of the pod and its job.
func (c *Counter) RememberQueue(p *Pod, queue string) {
	base := p.base()
	base.chargedQueue = queue
	c.charged[base.Object.UID] = base
}

// ForgetQueue undoes RememberQueue for a pod that did not get a node.
func (c *Counter) ForgetQueue(p *Pod) {
	if base := p.base(); base.chargedQueue != "" {
		base.chargedQueue = ""
		delete(c.charged, base.Object.UID)
	}
}

// inheritQueue adopts the queue that the previous object of a pod was charged to.
func (c *Counter) inheritQueue(p *Pod) {
	if last := c.charged[p.Object.UID]; last != nil {
		c.RememberQueue(p, last.chargedQueue)
	}
}
