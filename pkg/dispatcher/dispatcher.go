// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/members"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
)

// Dispatcher grants room to workloads while it leads. Make one with New.
type Dispatcher struct {
	cache   *cache.Cache
	clients *cache.Clients
	config  *framework.Config
	period  time.Duration
	// user is the user name of the dispatcher at the API server.
	user    string
	metrics *report.Metrics
}

// LeaseDuration is how long the lease of a leader lasts after it was last renewed. Whatever a leader decides in MaxDecisionAge
// after a renewal is in the store by then, or is refused.
const LeaseDuration = MaxDecisionAge + admission.GrantTakes + admission.AnswerTakes

// Lead runs cycles until ctx ends. Only one dispatcher may lead at a time, and Run must be running. Renewed reports whether this
// dispatcher has renewed its lease within a duration. A process that was paused may go on before it learns of a new leader.
func (d *Dispatcher) Lead(ctx context.Context, renewed func(time.Duration) bool) error {
	if err := d.cache.WaitForSync(ctx); err != nil {
		return err
	}
	if err := d.cache.CatchUp(ctx); err != nil {
		return fmt.Errorf("read what the dispatcher before has granted: %w", err)
	}
	events := report.StartEvents(ctx, d.clients.Kubernetes)
	defer events.Shutdown()
	queues := report.StartQueueWriter(ctx, d.clients.Queues.SchedulingV1beta1().Queues(), d.cache.Queues(), d.metrics, d.cache.HidesDRA)
	defer queues.Shutdown()
	leader := &leader{Dispatcher: d, memory: newMemory(), renewed: renewed, reporter: report.New(events, queues, d.metrics)}
	leader.remains = &members.Remains{
		Secrets: d.clients.Kubernetes, Clusters: d.cache.Clusters().Lister(), Changed: d.cache.Change, Sends: d.cache.Sends, SchedulerNames: d.config.SchedulerNames,
	}
	leader.remains.Start(ctx)
	defer leader.remains.Shutdown()
	leader.remains.Await() // workloads that Karmada has lost must be charged before anything is granted
	klog.InfoS("The dispatcher leads")
	pace := time.NewTicker(d.period)
	defer pace.Stop()
	for {
		next := leader.runCycle(ctx)
		if !d.wait(ctx, next) {
			return ctx.Err()
		}
		select { // a burst of changes makes one cycle
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
	}
}

// wait returns when something has changed or is due. It returns false if ctx has ended.
func (d *Dispatcher) wait(ctx context.Context, next time.Time) bool {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-d.cache.Changed():
	case <-due:
	}
	return true
}
