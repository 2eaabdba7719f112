// SPDX-License-Identifier: Apache-2.0

// Package chargerecord reads and writes the records of charges on pods and claims: the charged queue, the cards, and the claims.
//
// The scheduler writes a record when it binds a pod or allocates a claim. It reads the record if it cannot find the charge
// elsewhere after a restart. The PodGroup, the queue or a claim may have been deleted, or the labels of the node may have changed.
//
// This is not the package record of client-go, which writes events.
package chargerecord
