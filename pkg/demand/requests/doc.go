// SPDX-License-Identifier: Apache-2.0

// Package requests determines the requests of a pod, and the quantities that can be counted.
//
// The input is pods and resource lists. The output is resource lists, and errors for pods with uncountable requests.
//
// The package does not depend on a scheduler. All programs use it to count pods.
package requests
