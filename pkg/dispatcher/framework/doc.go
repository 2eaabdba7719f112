// SPDX-License-Identifier: Apache-2.0

// Package framework lets plugins decide which workloads are granted room, and in which order. It resembles Volcano's scheduler
// framework. The dispatcher opens a session on a snapshot in each cycle. Plugins register functions for extension points in
// OnSessionOpen. The session combines their answers by the tiers of the configuration.
package framework
