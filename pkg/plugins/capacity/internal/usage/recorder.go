// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/accounting/metrics"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/settings"
)

const (
	// requests and burst bound the requests: in each interval, every queue that is used has one.
	requests, burst = 20, 50
	// timeout is less than what a lease of the scheduler takes to expire: a process that does not lead any more has no
	// request under way when the next one reads the record.
	timeout = 5 * time.Second
)

// Recorder outlives sessions. Until it records, it ignores what it is told.
type Recorder struct {
	clock clock.WithTicker
	// account knows who has held what for how long. It is nil if that is not recorded.
	account *accounting.Account
	// arguments are those that it began with.
	arguments settings.Accounting
	endings   endings
	writing   sync.WaitGroup
	collector *metrics.Collector
}

// NewRecorder returns a recorder that does not record yet.
func NewRecorder(clock clock.WithTicker) *Recorder { return &Recorder{clock: clock} }

// Start begins to record, and to write the record until ctx ends. It reports whether it did: then Stop waits for the last write. It does
// nothing if the recorder has begun before, if there is no configuration, or if the arguments say so.
func (r *Recorder) Start(ctx context.Context, config *rest.Config, arguments *settings.Accounting) bool {
	if r.account != nil || config == nil || !arguments.Enabled {
		return false
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.Timeout = requests, burst, timeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		klog.ErrorS(err, "Failed to make a client, usage is not recorded")
		return false
	}
	r.Record(accounting.New(arguments.Period), arguments)
	r.write(ctx, store.New(store.NewClient(client), arguments.Label, arguments.Retention))
	return true
}

// Record lets the sessions that follow tell an account who holds what.
func (r *Recorder) Record(account *accounting.Account, arguments *settings.Accounting) {
	r.account, r.arguments = account, *arguments
	r.endings.begin()
}

// write writes to a store in the background, and publishes what has been written as metrics.
func (r *Recorder) write(ctx context.Context, to *store.Store) {
	writer := &store.Writer{Account: r.account, Store: to, Interval: r.arguments.Interval, Clock: r.clock}
	r.collector = metrics.New(writer.Recorded, r.arguments.Label)
	if err := prometheus.Register(r.collector); err != nil {
		klog.ErrorS(err, "Failed to register the metrics of usage")
	}
	r.writing.Go(func() { writer.Run(ctx) })
}

// Stop waits until the record has been written for the last time. The context that Start was given must have ended.
func (r *Recorder) Stop() {
	r.writing.Wait()
	prometheus.Unregister(r.collector)
}

// records reports whether usage of a dimension is recorded.
func (r *Recorder) records(d ledger.Dimension) bool {
	return d.Kind != ledger.Resource || r.arguments.Records(d.Name)
}
