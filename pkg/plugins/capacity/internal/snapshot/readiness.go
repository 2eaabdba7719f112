// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// DeviceQuotaNotReady returns the first queue, from the queue to the root, whose quota of devices is not known.
// It is nil if all are known.
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

// CardQuotaNotReady returns the first queue, from the queue to the root, that has not been read yet. It is nil if
// all have. An invalid card quota is another matter: the last valid one holds.
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
