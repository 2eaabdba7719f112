// SPDX-License-Identifier: Apache-2.0

// Package load measures schedulers on the development cluster, with a real API server and etcd: this project's, Volcano's own, and that of Kubernetes.
// `make bench-cluster` runs it and writes its part of docs/performance.md.
package load
