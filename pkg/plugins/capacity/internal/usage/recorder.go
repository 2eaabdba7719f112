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
	// requests and burst limit the requests to the API server. In each interval, there is one request for every queue in use.
	requests, burst = 20, 50
	// timeout is shorter than the lease of the scheduler. When a new leader reads the record, the old leader has no request in progress.
	timeout = 5 * time.Second
)

// Recorder outlives sessions. Until it records, it ignores all input.
type Recorder struct {
	clock clock.WithTicker
	// account knows who has held what for how long. It is nil if usage is not recorded.
	account *accounting.Account
	// arguments are the arguments that recording began with.
	arguments settings.Accounting
	endings   endings
	writing   sync.WaitGroup
	collector *metrics.Collector
}

// NewRecorder returns a recorder that does not record yet.
func NewRecorder(clock clock.WithTicker) *Recorder { return &Recorder{clock: clock} }

// Start starts to record, and to write the record until ctx ends. It reports whether it did: then Stop waits for the last write. It does
// nothing if recording has begun before, there is no configuration, or the arguments disable it.
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

// Record lets subsequent sessions tell an account who holds what.
func (r *Recorder) Record(account *accounting.Account, arguments *settings.Accounting) {
	r.account, r.arguments = account, *arguments
	r.endings.begin()
}

// write writes to a store in the background, and publishes the written data as metrics.
func (r *Recorder) write(ctx context.Context, to *store.Store) {
	writer := &store.Writer{Account: r.account, Store: to, Interval: r.arguments.Interval, Clock: r.clock}
	r.collector = metrics.New(writer.Recorded, r.arguments.Label)
	if err := prometheus.Register(r.collector); err != nil {
		klog.ErrorS(err, "Failed to register the metrics of usage")
	}
	r.writing.Go(func() { writer.Run(ctx) })
}

// Stop waits for the last write of the record. The context passed to Start must have ended.
func (r *Recorder) Stop() {
	r.writing.Wait()
	prometheus.Unregister(r.collector)
}

// records reports whether usage of a dimension is recorded.
func (r *Recorder) records(d ledger.Dimension) bool {
	return d.Kind != ledger.Resource || r.arguments.Records(d.Name)
}
