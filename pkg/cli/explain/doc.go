// SPDX-License-Identifier: Apache-2.0

// Package explain is the command kubectl devicequota explain. It shows why a pod or a workload waits, or where it runs.
package explain
