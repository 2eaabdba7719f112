// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// DeviceQuotaNotReady returns the first queue whose device quota is unknown, on the way to the root. It is nil if all are known.
func (s *Snapshot) DeviceQuotaNotReady(queue ledger.QueueID) *report.NotReady {
	if !s.invalidQuotas {
		return nil
	}
	for _, name := range s.Ledger.Path(queue) {
		if why := s.queues[name].invalid; why != "" {
			return &report.NotReady{Subject: report.Devices, Queue: name, Why: why}
		}
	}
	return nil
}

// CardQuotaNotReady returns the first queue that has not been read yet, on the way to the root. It is nil if all have.
// An invalid card quota does not count: the last valid one applies.
func (s *Snapshot) CardQuotaNotReady(queue ledger.QueueID) *report.NotReady {
	if !s.invalidQuotas {
		return nil
	}
	for _, name := range s.Ledger.Path(queue) {
		if state := s.queues[name]; state.notRead {
			return &report.NotReady{Subject: report.Cards, Queue: name, Why: state.invalid}
		}
	}
	return nil
}
