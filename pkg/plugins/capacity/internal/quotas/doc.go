// SPDX-License-Identifier: Apache-2.0

// Package quotas knows which quotas of devices and cards hold for a queue.
//
// Queues come in as the API server serves them. Quotas go out to sessions. A session does not always see the quota
// that an administrator wrote: an upgrade can replace the Queue CRD by one without spec.dra, and an annotation can be
// invalid. The last valid quotas hold then. The package keeps them in memory and, so that they outlive a restart, in
// an annotation on the queue. It probes whether the API server serves spec.dra. It therefore knows whether a quota was
// removed on purpose or lost, and restores a quota that was lost.
//
// Sessions only read and remember. Probes and writes run in the background.
package quotas
