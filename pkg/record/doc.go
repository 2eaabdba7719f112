// SPDX-License-Identifier: Apache-2.0

// Package record is what pods and claims carry of their charge: the queue that is charged, the cards, and the claims.
//
// The scheduler writes a record when it binds a pod or allocates a claim. It reads the record when nothing else
// says where the charge belongs: the PodGroup or the queue was deleted, the labels of the node have changed, or a claim
// was deleted, and the scheduler that knew was restarted.
//
// The package record of client-go, which writes events, is something else.
package record
