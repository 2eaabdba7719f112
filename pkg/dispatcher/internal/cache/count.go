// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// mostCounted bounds the effort for workloads of a namespace that wait for room and are to be counted anew. The next snapshot goes on with the others. Users may
// have hundreds of jobs of a thousand tasks, and replace a claim template that all of them name at any time. Some have many namespaces: all together share
// mostInAll, and each counts one workload at least.
const mostCounted, mostInAll = 20_000, 100_000

// countAll counts the needs of all workloads that may have changed. What runs comes first, without a limit, because it is charged.
func (c *Cache) countAll() {
	var wait []*known
	for _, k := range c.order {
		switch w := k.workload; {
		case w == nil:
		case w.Template == nil || w.TemplateErr != nil || !onlyWaits(w):
			w.Lags, k.lags = false, 0
			c.count(k)
		case c.counter.IsCurrent(k.counted):
			w.Lags, k.lags = false, 0
		default:
			wait = append(wait, k)
		}
	}
	slices.SortStableFunc(wait, func(a, b *known) int { return cmp.Compare(a.lags-1, b.lags-1) }) // those that lag for longest come first, and zero last
	spent := map[string]int{}
	for _, k := range wait {
		spent[k.rb.Namespace] = 0
	}
	most := max(1, min(mostCounted, mostInAll/max(1, len(spent))))
	for _, k := range wait {
		w, namespace := k.workload, k.rb.Namespace
		if w.Lags = spent[namespace] >= most; w.Lags {
			k.lags = cmp.Or(k.lags, c.round)
			continue
		}
		spent[namespace] += w.Template.Effort()
		k.lags = 0
		c.count(k)
	}
}

// onlyWaits reports whether nothing of a workload is charged.
func onlyWaits(w *framework.Workload) bool {
	return w.Waits() && w.State.Grant == nil && !w.State.MayRun
}

// keepCount keeps the count of a workload that depends on the same as before. Clusters report at any time, and some jobs have a thousand tasks.
func (k *known) keepCount(before *known) {
	is, was := k.workload, before.workload
	if is == nil || was == nil || is.Template == nil || is.Template != was.Template || before.counted == nil {
		return
	}
	a, b := is.Spread, was.Spread
	a.Granted, b.Granted = nil, nil // they are read anew
	if a != b || k.rb.Annotations[binding.GrantAnnotation] != before.rb.Annotations[binding.GrantAnnotation] {
		return
	}
	k.counted, is.Needs, is.Err = before.counted, before.counted.Needs, before.counted.Err
}

// count counts the needs of a workload if they may have changed.
func (c *Cache) count(k *known) {
	switch w := k.workload; {
	case w.TemplateErr != nil:
		w.Err = w.TemplateErr
	case w.Template != nil:
		if counted := c.counter.Of(w.Template, w.Spread, k.counted); counted != k.counted {
			k.counted, w.Needs, w.Err = counted, counted.Needs, counted.Err
		}
	}
}
