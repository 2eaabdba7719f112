// SPDX-License-Identifier: Apache-2.0

// Package problems finds problems of queues, and has the reasons and messages of their events. The scheduler and kubectl devicequota lint
// use the same words.
package problems
