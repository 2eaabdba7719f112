package capacity

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// gauge is one of the metrics of queues that upstream's plugin has, for all resources.
type gauge struct {
	value  func(*plugin, ledger.QueueID, ledger.Ordinal) ledger.Amount
	update func(queue string, milliCPU, memory float64, scalars map[corev1.ResourceName]float64)
}

var gauges = []gauge{
	{deserved, metrics.UpdateQueueDeserved},
	{balance(ledger.Allocated), metrics.UpdateQueueAllocated},
	{balance(ledger.Request), metrics.UpdateQueueRequest},
	{capability, metrics.UpdateQueueCapacity},
	{realCapability, metrics.UpdateQueueRealCapacity},
}

func deserved(p *plugin, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	return p.ledger.Deserved(q, o).Amount
}

func balance(account ledger.Account) func(*plugin, ledger.QueueID, ledger.Ordinal) ledger.Amount {
	return func(p *plugin, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
		return p.ledger.Balance(q, account, o)
	}
}

// capability is the queue's own or that of the next one above that has one, or else what the
// cluster has.
func capability(p *plugin, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	if _, amount, limited := p.ledger.Nearest(q, o); limited {
		return amount
	}
	return p.total.Of(o)
}

func realCapability(p *plugin, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	return p.ledger.Limit(q, o).Amount
}

// published is what the metrics of a queue say.
type published struct {
	// values has a value for every resource, in the order of resources.all.
	values [][]ledger.Amount
	share  float64
	// dimensions has what is published of devices and cards, by dimension and gauge.
	dimensions [][]dimensionValue
}

// publish updates the metrics that have changed.
func (p *plugin) publish() {
	books := p.held()
	for _, info := range p.session.Queues {
		queue, found := p.ledger.Queue(info.Name)
		if !found {
			continue
		}
		last := p.process.published[info.Name]
		if last == nil {
			last = &published{values: make([][]ledger.Amount, len(gauges)), share: -1}
			p.process.published[info.Name] = last
		}
		p.publishQueue(info.Name, queue, last)
		p.publishDimensions(books, info.Name, queue, last)
	}
	maps.DeleteFunc(p.process.published, func(name string, _ *published) bool {
		gone := p.session.Queues[api.QueueID(name)] == nil
		if gone {
			unpublishDimensions(name)
		}
		return gone
	})
}

func (p *plugin) publishQueue(name string, queue ledger.QueueID, last *published) {
	resources := p.process.resources
	for i, gauge := range gauges {
		changed := len(last.values[i]) < len(resources.all)
		for j, resource := range resources.all {
			value := gauge.value(p, queue, resource.ordinal)
			if j == len(last.values[i]) {
				last.values[i] = append(last.values[i], value)
			} else if last.values[i][j] != value {
				last.values[i][j], changed = value, true
			}
		}
		if changed {
			now := resources.resource(last.values[i])
			gauge.update(name, now.MilliCPU, now.Memory, now.ScalarResources)
		}
	}
	if share := p.ledger.Share(queue); share != last.share {
		last.share = share
		metrics.UpdateQueueShare(name, share)
	}
}
