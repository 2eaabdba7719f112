// SPDX-License-Identifier: Apache-2.0

// Package turns decides who comes next of those that were passed over because a session has done enough for others.
//
// Names and the queues that they belong to come in. Names go out, those of each queue in the order in which they came, and queues in turns,
// so that somebody with many jobs does not keep other queues waiting.
package turns
