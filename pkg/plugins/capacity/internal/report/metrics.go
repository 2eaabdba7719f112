// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

// Accounts is the input of the metrics.
type Accounts struct {
	// Ledger is the ledger of the session.
	Ledger *ledger.Ledger
	// Held is the ledger that includes what releasing pods still hold.
	Held *ledger.Ledger
	// Total is the sum of the cluster's resources.
	Total      ledger.Amounts
	Dimensions *ledger.Dimensions
	Resources  *demand.Resources
	Queues     map[api.QueueID]*api.QueueInfo
	// Complete says that all devices and cards in use are known.
	Complete bool
}

// resourceGauge is a metric of queues from upstream's plugin, for all resources.
type resourceGauge struct {
	value  func(*Accounts, ledger.QueueID, ledger.Ordinal) ledger.Amount
	update func(queue string, milliCPU, memory float64, scalars map[corev1.ResourceName]float64)
}

var resourceGauges = []resourceGauge{
	{deserved, metrics.UpdateQueueDeserved},
	{balance(ledger.Allocated), metrics.UpdateQueueAllocated},
	{balance(ledger.Request), metrics.UpdateQueueRequest},
	{capability, metrics.UpdateQueueCapacity},
	{realCapability, metrics.UpdateQueueRealCapacity},
}

func deserved(a *Accounts, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	return a.Ledger.Deserved(q, o).Amount
}

func balance(account ledger.Account) func(*Accounts, ledger.QueueID, ledger.Ordinal) ledger.Amount {
	return func(a *Accounts, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
		return a.Ledger.Balance(q, account, o)
	}
}

// capability returns the capability of the nearest queue on the way to the root that lists the resource. If there is
// none, it returns the cluster's total.
func capability(a *Accounts, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	if _, amount, limited := a.Ledger.Nearest(q, o); limited {
		return amount
	}
	return a.Total.Of(o)
}

func realCapability(a *Accounts, q ledger.QueueID, o ledger.Ordinal) ledger.Amount {
	return a.Ledger.Limit(q, o).Amount
}

// queueMetrics are the published metrics of a queue.
type queueMetrics struct {
	// resources has a value for each gauge and each resource, in the order of Resources.Each.
	resources [][]ledger.Amount
	share     float64
	// dimensions has a value for each device or card dimension and each of its gauges.
	dimensions [][]dimensionValue
	// outdated says that the usage of the queue has changed since it was passed to the writer.
	outdated bool
}

// Metrics updates the metrics that have changed.
func (r *Reporter) Metrics(accounts *Accounts) {
	if r.dimensions != accounts.Dimensions {
		r.forgetDimensions()
		r.dimensions = accounts.Dimensions
	}
	for _, info := range accounts.Queues {
		queue, found := accounts.Ledger.Queue(info.Name)
		if !found {
			continue
		}
		last := r.queues[info.Name]
		if last == nil {
			last = &queueMetrics{resources: make([][]ledger.Amount, len(resourceGauges)), share: -1, outdated: true}
			r.queues[info.Name] = last
		}
		last.updateResources(accounts, info.Name, queue)
		if last.updateDimensions(accounts, info.Name, queue) {
			last.outdated = true
		}
		if last.outdated && accounts.Complete && r.Usage != nil {
			r.Usage.Set(info.Name, usageOf(accounts, queue))
			last.outdated = false
		}
	}
	maps.DeleteFunc(r.queues, func(name string, _ *queueMetrics) bool {
		gone := accounts.Queues[api.QueueID(name)] == nil
		if gone {
			deleteDimensions(name)
			deleteEvictions(name)
			if r.Usage != nil {
				r.Usage.Forget(name)
			}
		}
		return gone
	})
}

// forgetDimensions causes all series to be written again, because the dimensions are new.
func (r *Reporter) forgetDimensions() {
	for name, last := range r.queues {
		deleteDimensions(name)
		last.resources, last.dimensions = make([][]ledger.Amount, len(resourceGauges)), nil
	}
}

func (m *queueMetrics) updateResources(accounts *Accounts, name string, queue ledger.QueueID) {
	for i, gauge := range resourceGauges {
		ordinals := accounts.Resources.Ordinals()
		changed := len(m.resources[i]) < len(ordinals)
		for j, resource := range ordinals {
			value := gauge.value(accounts, queue, resource)
			if j == len(m.resources[i]) {
				m.resources[i] = append(m.resources[i], value)
			} else if m.resources[i][j] != value {
				m.resources[i][j], changed = value, true
			}
		}
		if changed {
			now := accounts.Resources.Values(m.resources[i])
			gauge.update(name, now.MilliCPU, now.Memory, now.Scalars)
		}
	}
	if share := accounts.Ledger.Share(queue); share != m.share {
		m.share = share
		metrics.UpdateQueueShare(name, share)
	}
}

// usageOf returns the usage of a queue. It changes only if a metric of the queue does.
func usageOf(accounts *Accounts, queue ledger.QueueID) queueusage.Usage {
	entries := make([]queueusage.Entry, 0, accounts.Dimensions.Len())
	for o := range ledger.Ordinal(accounts.Dimensions.Len()) {
		// What releasing pods still hold is used, but no longer requested.
		waiting, _ := accounts.Ledger.Balance(queue, ledger.Request, o).Sub(accounts.Ledger.Balance(queue, ledger.Allocated, o)) // both are sums of the ledger
		entries = append(entries, queueusage.Entry{
			Dimension: accounts.Dimensions.Dimension(o), Used: accounts.Held.Balance(queue, ledger.Allocated, o), Waiting: waiting,
			Either: accounts.Ledger.Balance(queue, ledger.Either, o),
			Limit:  accounts.Ledger.Limit(queue, o), Listed: limits(accounts.Ledger, queue, o),
		})
	}
	return queueusage.Of(entries)
}

var waitingPods = gaugeVector(metric.QueueWaitingPods)

// waitingKey has the label values of the metric.
type waitingKey struct {
	queue  api.QueueID
	reason string
}

// countWaiting updates the metric where the number of refused pods has changed in this session.
func (r *Reporter) countWaiting(jobs map[api.JobID]*api.JobInfo) {
	counts := map[waitingKey]int{}
	for id, refused := range r.pods {
		if _, jobRefused := r.jobs[refused.task.Job]; !jobRefused && Waits(jobs, refused.task.Job, id) {
			counts[waitingKey{jobs[refused.task.Job].Queue, waitingReason(refused.refusal)}]++
		}
	}
	for id, refused := range r.jobs {
		if job, found := jobs[id]; found && job.IsPending() {
			counts[waitingKey{job.Queue, waitingReason(refused.refusal)}] += podsThatWait(job)
		}
	}
	for key, n := range counts {
		if last, found := r.waitingPods[key]; !found || last != n {
			waitingPods.WithLabelValues(string(key.queue), key.reason).Set(float64(n))
		}
	}
	for key := range r.waitingPods {
		if _, found := counts[key]; !found {
			waitingPods.DeleteLabelValues(string(key.queue), key.reason)
		}
	}
	r.waitingPods = counts
}

// podsThatWait returns the number of waiting pods of a job that is not admitted to its queue. Most kinds of jobs create their
// pods only after admission.
func podsThatWait(job *api.JobInfo) int {
	pods := 0
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if !task.SchGated {
			pods++
		}
	}
	return max(pods, int(job.MinAvailable)-int(count(job, api.Succeeded)), 1)
}
