// SPDX-License-Identifier: Apache-2.0

package quotas

// verdict is why spec.dra is missing from a queue that had it.
type verdict int

const (
	// unconfirmed means that nobody knows yet.
	unconfirmed verdict = iota
	// lost means that the CRD lacks the field, or lacked it while the queue was written.
	lost
	// removed means that somebody removed it on purpose.
	removed
	// unclear means that nobody will ever know: the spec of the queue was written while no scheduler looked.
	unclear
)

// absence is about a queue from which spec.dra is missing although it had one.
type absence struct {
	// since is the number of the probe that had begun last when this was noticed.
	since   int
	verdict verdict
	// restoring says that the writer has been told to restore spec.dra.
	restoring bool
}

// judge finds out why spec.dra is missing. Generation is that of the queue now. A removal is only believed if the API server
// serves the field by a probe that began after the queue was read without it, and did so ever since the queue was
// read with it.
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
