// SPDX-License-Identifier: Apache-2.0

// Package turns decides the order of jobs that were passed over because a session has done enough for others.
//
// The input is names and their queues. The output is names. The names of each queue come in the order of their arrival, and queues take
// turns. A user with many jobs therefore does not keep other queues waiting.
package turns
