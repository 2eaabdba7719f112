// SPDX-License-Identifier: Apache-2.0

// Package queueusage writes the device and card usage that `kubectl get queue` shows. The scheduler and the dispatcher write it
// to annotations of queues. The input is the usage of queues. The output is patches, sent in the background.
package queueusage
