// SPDX-License-Identifier: Apache-2.0

// Package demand turns a pod, or a job without pods yet, into amounts that the ledger checks and charges.
//
// A [Counter] knows the names that count: resources, the cards of nodes, and the device classes of the cluster. The input is pods, claims
// and jobs. The output is parts of a [ledger.Demand]. A pod has one part for its resources, one for its cards, and one for each claim. A
// claim that several pods share is charged once. The counter remembers pods and claims, so an unchanged object costs only a lookup.
//
// The package does not depend on a scheduler. All programs that need the demand of a workload use it.
package demand
