// SPDX-License-Identifier: Apache-2.0

// Package scheduler runs Volcano's scheduler: it opens one session after the other, and runs actions in it. It serves the same flags,
// configuration file, metrics, and signals as upstream's cmd/scheduler/app and pkg/scheduler. It replaces them because they do not give
// access to the scheduler's cache. The nodes of this cache list the extended resources of DRA (KEP-5004), so Volcano's own checks accept
// pods that request them.
package scheduler
