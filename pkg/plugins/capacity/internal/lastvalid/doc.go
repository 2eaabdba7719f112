// SPDX-License-Identifier: Apache-2.0

// Package lastvalid determines the effective device and card quotas of a queue.
//
// It reads queues from the API server, and gives their quotas to sessions. A session does not always see the quota that an
// administrator wrote. An upgrade can replace the Queue CRD by one without spec.dra, and an annotation can be invalid. Then
// the last valid quotas apply. The package keeps them in memory and, to survive a restart, in an annotation on the queue. It
// probes whether the API server serves spec.dra. So it can tell removed quotas from lost quotas, and it restores lost ones.
//
// Sessions only read and remember. Probes and writes run in the background.
package lastvalid
