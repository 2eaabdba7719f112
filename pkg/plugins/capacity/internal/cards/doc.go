// SPDX-License-Identifier: Apache-2.0

// Package cards decides which nodes' cards a pod may get.
//
// A [Cache] reads the nodes and their labels. It keeps the fleet: the cards that all nodes offer. [PreFilter] asks the
// ledger once for each card that a pod may get. [Session.Filter] and [Session.Score] then only look up the card of each
// node. The names are those of kube-scheduler's extension points.
package cards
