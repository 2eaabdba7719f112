// SPDX-License-Identifier: Apache-2.0

// Package version is the command kubectl devicequota version. It shows the versions of the command and the scheduler.
package version
