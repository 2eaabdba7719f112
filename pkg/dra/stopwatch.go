// SPDX-License-Identifier: Apache-2.0

package dra

import "time"

// stopwatch charges for the time of work that may take long without steps.
type stopwatch struct {
	effort *NodeEffort
	// timed says that the time since begun counts.
	timed bool
	begun time.Time
	// paid is the amount charged so far.
	paid int
}

func newStopwatch(effort *NodeEffort, timed bool) stopwatch {
	w := stopwatch{effort: effort, timed: timed}
	if timed {
		w.begun = time.Now()
	}
	return w
}

// due returns the cost of the time so far that is not charged yet.
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

// lap charges the due amount. The error is errTooMuch if too little is left.
func (w *stopwatch) lap() error {
	due := w.due()
	if due <= 0 {
		return nil
	}
	w.paid += due
	return w.effort.exhaust(due)
}
