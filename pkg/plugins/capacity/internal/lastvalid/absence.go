// SPDX-License-Identifier: Apache-2.0

package lastvalid

// verdict says why spec.dra is missing from a queue that had it.
type verdict int

const (
	// unconfirmed means that the reason is not known yet.
	unconfirmed verdict = iota
	// lost means that the CRD lacks the field, or lacked it when the queue was written.
	lost
	// removed means that spec.dra was removed on purpose.
	removed
	// unclear means that the reason cannot be determined: the spec of the queue was written while no scheduler was watching.
	unclear
)

// absence describes a missing spec.dra of a queue that had one.
type absence struct {
	// since is the number of the latest probe begun when this was noticed.
	since   int
	verdict verdict
	// restoring says that the writer has been asked to restore spec.dra.
	restoring bool
}

// judge determines why spec.dra is missing. generation is the current generation of the queue. A missing field counts as
// removed only under two conditions. A probe that began after the queue was read without the field finds the field served.
// No probe has found it missing since the queue was last read with it.
func (k *knownQuotas) judge(generation int64, s *schema) {
	a := k.absence
	switch {
	case a.verdict != unconfirmed:
	case generation == k.last.Generation && k.uid == k.last.UID:
		a.verdict = lost
	case s.missing > 0 && s.missing >= k.present:
		a.verdict = lost
	case !s.servesSince(a.since):
	case k.seen:
		a.verdict = removed
	default:
		a.verdict = unclear
	}
}
