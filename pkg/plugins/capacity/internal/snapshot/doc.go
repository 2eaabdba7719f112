// SPDX-License-Identifier: Apache-2.0

// Package snapshot builds the ledger of one session from its queues and jobs.
//
// Queues come in and become limits. Pods come in and become charges: what pods with a node hold, what
// allocated claims hold, what pods hold that no job has (strays), and what releasing pods have not given back yet. Jobs come in and become accounts:
// what they request, what they need to run, and what they have beyond that. A [Snapshot] then answers
// for the rest of the session what fits. A [Cache] keeps between sessions who pays for which claim, and
// the demand of pods and claims that have not changed.
package snapshot
