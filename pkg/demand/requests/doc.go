// SPDX-License-Identifier: Apache-2.0

// Package requests says what a pod requests, and which quantities can be counted.
//
// Pods and resource lists come in. Resource lists go out, and the error of a pod whose requests nobody can count.
//
// The package depends on no scheduler: all programs count pods by it.
package requests
