// SPDX-License-Identifier: Apache-2.0

// Package queueusage has what `kubectl get queue` shows of devices and cards: annotations of queues, which the scheduler
// and the dispatcher write. What queues use comes in. Patches go out, in the background.
package queueusage
