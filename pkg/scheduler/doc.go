// SPDX-License-Identifier: Apache-2.0

// Package scheduler runs Volcano's scheduler: it opens one session after the other, and runs actions in it. It serves the same flags,
// configuration file, metrics, and signals as upstream's cmd/scheduler/app and pkg/scheduler, and takes their place because these
// do not give access to the scheduler's cache. The nodes of that cache list what DRA offers them as extended resources (KEP-5004), so that
// Volcano's own checks let pods through that request them.
package scheduler
