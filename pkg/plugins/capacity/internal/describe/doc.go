// SPDX-License-Identifier: Apache-2.0

// Package describe says what a session knows in the types of the visibility API.
//
// The snapshot of the session comes in, and what people have been told. Queues and their figures, workloads, and holders go out,
// as package visibility publishes them. Explanations are made of the same figures, holders, amounts, and refusals. Nothing is
// computed before it is asked for, and nothing is changed.
package describe
