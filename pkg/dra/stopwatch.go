// SPDX-License-Identifier: Apache-2.0

package dra

import "time"

// stopwatch charges for time, for what may take long without steps.
type stopwatch struct {
	effort *NodeEffort
	// timed says that the time counts since begun.
	timed bool
	begun time.Time
	// paid is what has been charged so far.
	paid int
}

func newStopwatch(effort *NodeEffort, timed bool) stopwatch {
	w := stopwatch{effort: effort, timed: timed}
	if timed {
		w.begun = time.Now()
	}
	return w
}

// due is what the time has cost so far, and has not been paid.
func (w *stopwatch) due() int {
	if !w.timed {
		return 0
	}
	took := time.Since(w.begun)
	if took < untimed {
		return 0
	}
	return int(took/timeOfUnit) - w.paid
}

// lap charges what is due. The error is errTooMuch if that is too much.
func (w *stopwatch) lap() error {
	due := w.due()
	if due <= 0 {
		return nil
	}
	w.paid += due
	return w.effort.exhaust(due)
}
