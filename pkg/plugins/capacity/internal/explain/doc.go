// SPDX-License-Identifier: Apache-2.0

// Package explain has what an explanation of a pod or a workload is made of: which checks were made and which one fails, what nodes
// answered, where devices and cards are, who holds what is missing, and the words for what the plugin writes no event about.
//
// The plugin asks, because the checks are its own and those of other plugins of the session. Answers come in, and the types of the visibility
// API go out.
package explain
