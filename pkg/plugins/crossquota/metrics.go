// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/devicequota/devicequota/pkg/metric"
)

var (
	quotaMetric = promauto.NewGaugeVec(metric.CrossquotaQuota.GaugeOpts(), metric.CrossquotaQuota.Labels)
	usedMetric  = promauto.NewGaugeVec(metric.CrossquotaUsed.GaugeOpts(), metric.CrossquotaUsed.Labels)
)

// published holds the values of the metrics for one resource of a node.
type published struct{ quota, used amount }

// publish updates the metrics that have changed, and removes the metrics of nodes that are no longer GPU nodes.
func (p *plugin) publish() {
	for name, a := range p.accounts {
		last, found := p.cache.published[name]
		if !found {
			last = make([]published, len(p.config.resources))
			p.cache.published[name] = last
		}
		for i, r := range p.config.resources {
			now := published{quota: a.facts.quotas[i], used: a.used[i]}
			if found && now == last[i] {
				continue
			}
			last[i] = now
			quotaMetric.WithLabelValues(name, string(r.name)).Set(now.quota.base(r.name))
			usedMetric.WithLabelValues(name, string(r.name)).Set(now.used.base(r.name))
		}
	}
	if len(p.cache.published) == len(p.accounts) {
		return
	}
	for name := range p.cache.published {
		if p.accounts[name] == nil {
			unpublish(name)
			delete(p.cache.published, name)
		}
	}
}

func unpublish(node string) {
	quotaMetric.DeletePartialMatch(prometheus.Labels{"node": node})
	usedMetric.DeletePartialMatch(prometheus.Labels{"node": node})
}
