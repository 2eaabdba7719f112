// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Cycle has the results of a cycle.
type Cycle struct {
	Snapshot *framework.Snapshot
	// Decisions are the decisions that took effect. A later one about a workload replaces earlier ones. Workloads without a decision have none.
	Decisions []Decision
	// Usage is the usage of the queues after all decisions.
	Usage    Usage
	Duration time.Duration
}

// Reporter reports the results of cycles. It is not safe for concurrent use.
type Reporter struct {
	teller  teller
	queues  *QueueWriter
	metrics *Metrics
}

// New returns a reporter.
func New(events *Events, queues *QueueWriter, metrics *Metrics) *Reporter {
	return &Reporter{teller: teller{events: events}, queues: queues, metrics: metrics}
}

// Cycle reports the results of a cycle without waiting for the API server. It returns when the next cycle is due to refresh numbers in
// events even without a change, zero if none is.
func (r *Reporter) Cycle(c *Cycle) (due time.Time) {
	r.teller.begin(c.Snapshot)
	r.teller.tellQueues(c.Snapshot)
	for i := range c.Decisions {
		d := &c.Decisions[i]
		if !r.teller.tell(d, c.Snapshot.Now) {
			continue
		}
		r.metrics.decided(d.Kind, queueLabel(c.Snapshot, d.Workload.Queue))
		klog.V(2).InfoS("Decided", "decision", d.Kind, "binding", klog.KObj(d.Workload.Binding), "queue", d.Workload.Queue, "reason", d.Reason, "message", d.Message)
	}
	workloads := countWorkloads(c.Snapshot)
	r.metrics.cycle(c.Snapshot, workloads, stillRun(c), c.Usage, c.Duration)
	wanted := make(map[string]*queueReport, len(c.Snapshot.Queues))
	for name, queue := range c.Snapshot.Queues {
		wanted[name] = newQueueReport(queue, c.Usage[name], workloads[name])
	}
	r.queues.set(wanted)
	return r.teller.due
}

// stillRun counts the workloads of each queue that run although they should have ended.
func stillRun(c *Cycle) map[string]int {
	counts := map[string]int{}
	for i := range c.Decisions {
		if d := &c.Decisions[i]; d.Kind == KindStillRuns {
			counts[queueLabel(c.Snapshot, d.Workload.Queue)]++
		}
	}
	return counts
}
