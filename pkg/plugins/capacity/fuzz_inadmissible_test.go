// SPDX-License-Identifier: Apache-2.0

package capacity

import "github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"

// checkInadmissible searches victims, without memory, for the jobs that the memory would skip now.
func (c *fuzzCluster) checkInadmissible() {
	p := c.plugins.cache.opened
	if p == nil || p.checks.NotReady() != nil {
		return
	}
	remembering := p.newElastic()
	for _, job := range p.session.Jobs {
		for _, rule := range []eviction.Rule{eviction.Preempt, eviction.Reclaim} {
			if !remembering.Asks(job) || !remembering.Remembers(rule, job) {
				continue
			}
			p.elastic = p.newElastic()
			if plan := p.elastic.Solver().Plan(rule, job); plan != nil {
				plan.Discard()
				c.fail("job %s is remembered as inadmissible, but %d pods can start by %s", job.Name, len(plan.Pods), rule)
			}
		}
	}
}
