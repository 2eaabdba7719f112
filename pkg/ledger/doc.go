// SPDX-License-Identifier: Apache-2.0

// Package ledger does all quota arithmetic.
//
// The input is a tree of queues with their limits, and demands. The output is decisions: a demand fits, or a [Refusal]
// names the queue, the dimension and the numbers. A demand is a list of parts. Each part is charged once, however many
// holders it has. A device claim that several pods share counts once, also in common ancestors.
//
// The package does not depend on Kubernetes. All amounts are exact integers, and all dimensions are interned. A check
// does not allocate. It reads only the dimensions of the demand, at the queue and its ancestors. A [Ledger.View]
// answers "what if" questions: charges and releases in a view do not change its base.
//
// A scheduler builds a new ledger for each session, and reuses the parts.
package ledger
