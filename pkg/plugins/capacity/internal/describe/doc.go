// SPDX-License-Identifier: Apache-2.0

// Package describe describes a session in the types of the visibility API.
//
// Its input is the snapshot of the session, and what was reported to users. Its output consists of queues with their figures, workloads,
// and holders, as package visibility publishes them. Explanations use the same figures, holders, amounts, and refusals.
// Everything is computed on demand, and nothing is changed.
package describe
