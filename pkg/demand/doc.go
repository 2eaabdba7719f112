// SPDX-License-Identifier: Apache-2.0

// Package demand turns a pod, or a job whose pods do not exist yet, into amounts that the ledger
// checks and charges.
//
// A [Counter] knows the names that count: resources, the cards that nodes offer, and the device
// classes of the cluster. Pods, claims, and jobs come in. Parts of a [ledger.Demand] go out:
// one part for the resources of a pod, one for its cards, and one for each claim, so that a claim
// that several pods share is charged once. The counter remembers pods and claims, so that an object
// that has not changed costs a lookup.
//
// The package depends on no scheduler: it serves every program that needs to know what a workload asks for.
package demand
