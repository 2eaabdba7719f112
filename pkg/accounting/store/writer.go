// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/accounting"
)

const (
	// lastTimeout limits the last write of a process that stops.
	lastTimeout = 5 * time.Second
)

// Writer writes the usage of an account to the record, in the background. Only the leader may run one.
type Writer struct {
	Account *accounting.Account
	Store   *Store
	// Interval is the time between two writes.
	Interval time.Duration
	Clock    clock.WithTicker

	loaded bool
	// increment is cut from the account, and does not count yet.
	increment *accounting.Increment
	published atomic.Pointer[Recorded]
	logged    string
}

// Recorded is a copy of the record.
type Recorded struct {
	// Through is the end of the time that the record covers.
	Through time.Time
	// Totals has the total of each series since its first record.
	Totals accounting.Sums
}

// Recorded returns the record after the last write, or nil before the record is read. No total ever decreases, even if another process writes
// the record next. Callers must not change it.
func (w *Writer) Recorded() *Recorded { return w.published.Load() }

// Run writes until ctx ends, and then once more.
func (w *Writer) Run(ctx context.Context) {
	ticker := w.Clock.NewTicker(w.Interval)
	defer ticker.Stop()
	for {
		w.log(w.Write(ctx, accounting.Lag))
		select {
		case <-ticker.C():
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
			defer cancel()
			if w.loaded { // otherwise there is nothing to write
				w.log(w.Write(last, 0)) // there are no more observations
			}
			return
		}
	}
}

// log logs an error once.
func (w *Writer) log(err error) {
	switch {
	case err == nil:
		w.logged = ""
	case err.Error() != w.logged:
		w.logged = err.Error()
		klog.ErrorS(err, "Failed to write the record of usage, it is written later")
	}
}

// Write completes the record up to a lag before the last session. It loads the record first if necessary.
func (w *Writer) Write(ctx context.Context, lag time.Duration) error {
	if !w.loaded {
		through, err := w.Store.Load(ctx, w.Clock.Now())
		if err != nil {
			return err
		}
		w.loaded, w.increment = true, nil
		w.Account.Resume(through)
		w.publish()
	}
	for {
		if w.increment == nil {
			w.increment = w.Account.Cut(lag)
		}
		if w.increment == nil {
			return w.Store.DeleteOld(ctx)
		}
		if err := w.Store.Write(ctx, w.increment); err != nil {
			w.loaded = !errors.Is(err, ErrOtherWriter)
			return err
		}
		w.increment = nil
		w.publish()
	}
}

func (w *Writer) publish() {
	w.published.Store(&Recorded{Through: w.Store.Through(), Totals: maps.Collect(w.Store.Totals)})
}
