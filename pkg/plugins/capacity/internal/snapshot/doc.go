// SPDX-License-Identifier: Apache-2.0

// Package snapshot builds the ledger of one session from its queues and jobs.
//
// Queues become limits. Pods become charges: what pods with a node and allocated claims hold, what pods without a job hold (strays), and what
// releasing pods have not returned yet. Jobs become accounts: what they request, what they need to run, and what they have beyond that. A [Snapshot]
// then answers what fits, for the rest of the session. A [Cache] keeps, between sessions, which queue pays for which claim, and the demand of
// unchanged pods and claims.
package snapshot
