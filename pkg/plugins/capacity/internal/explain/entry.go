// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Entry explains why a job may not take the room that it lacks in its queue from other jobs.
type Entry struct {
	Snapshot *snapshot.Snapshot
	// Takings is what the configured actions could take from other jobs.
	Takings ledger.Takings
	// Preempts says that the action preempt is configured.
	Preempts bool
}

// NeverFits says that a job asks for more than a queue may have even without other holders. It is empty if the job asks for less.
func NeverFits(refused *ledger.Refusal) string {
	usable, err := refused.Limit.Sub(refused.Guaranteed)
	if err != nil || refused.Requested.Cmp(usable) <= 0 {
		return ""
	}
	format := refused.Dimension.Format
	return fmt.Sprintf("that would not help, because it needs <%s> of <%s>, and queue <%s> may have <%s> in all", format(refused.Requested), refused.Dimension, refused.Queue, format(usable))
}

// NoRight says which right is missing.
func (e *Entry) NoRight(no *ledger.NoRight) string {
	books, dimension := e.Snapshot.Ledger, e.Snapshot.Dimensions.Dimension(no.Dimension)
	full, taker := books.Name(no.Full), books.Name(no.Taker)
	switch {
	case no.Full == no.Taker:
		return fmt.Sprintf("queue <%s> itself has no room for <%s>, and reclaim takes from other queues only; %s", full, dimension, e.heldByLower(no.Dimension))
	case !e.Takings.Back:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and the action reclaim, which takes from other queues, is not configured; %s", full, dimension, e.heldByLower(no.Dimension))
	case !no.Target.Set:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and queue <%s> deserves none of it: set what it deserves", full, dimension, taker)
	default:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and queue <%s>, which would come to <%s>, deserves <%s> of it", full, dimension, taker,
			dimension.Format(no.WouldBe), dimension.Format(no.Target.Amount))
	}
}

// heldByLower says what preempt could take for a job.
func (e *Entry) heldByLower(o ledger.Ordinal) string {
	spare := e.Takings.Spare.Of(o)
	switch {
	case !e.Preempts:
		return "the action preempt, which takes from jobs of lower priority in the queue, is not configured"
	case spare.Sign() <= 0:
		return "no job of lower priority in the queue holds any that may be preempted"
	default:
		return fmt.Sprintf("jobs of lower priority in the queue hold <%s> that may be preempted, which is not enough", e.Snapshot.Dimensions.Dimension(o).Format(spare))
	}
}

// NoTakings says why no action could take anything.
func (e *Entry) NoTakings() string {
	if e.Preempts {
		return "no job of lower priority in the queue holds anything that may be preempted, and the action reclaim is not configured"
	}
	return "the scheduler's configuration has neither the action reclaim nor the action preempt"
}
