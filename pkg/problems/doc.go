// SPDX-License-Identifier: Apache-2.0

// Package problems finds what is wrong with queues, and has the words for it: reasons of events, and sentences. The scheduler
// and kubectl devicequota lint say the same about the same.
package problems
