// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const (
	// lastTimeout is how long a process that stops may take to write what it knows.
	lastTimeout = 5 * time.Second
)

// Writer writes what an account knows to the record, in the background. Only the process that leads may run one.
type Writer struct {
	Account *accounting.Account
	Store   *Store
	// Interval is how often it writes.
	Interval time.Duration
	Clock    clock.WithTicker

	loaded bool
	// increment is cut off the account, and does not count yet.
	increment *accounting.Increment
	published atomic.Pointer[Recorded]
	logged    string
}

// Total is what a series comes to since it has been recorded.
type Total struct {
	accounting.Series
	ledger.Amount
}

// Recorded is what the record says.
type Recorded struct {
	// Through is up to when it is complete.
	Through time.Time
	Totals  []Total
}

// Recorded returns what the record says since it was written last, nil before it has been read. No total decreases, also when another process
// writes the record next. It must not be changed.
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
				w.log(w.Write(last, 0)) // nobody observes any more
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

// Write brings the record up to date with the last session but for a lag. It first loads the record if that is due.
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
	recorded := &Recorded{Through: w.Store.Through()}
	w.Store.Totals(func(series accounting.Series, amount ledger.Amount) {
		recorded.Totals = append(recorded.Totals, Total{series, amount})
	})
	w.published.Store(recorded)
}
