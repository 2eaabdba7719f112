// SPDX-License-Identifier: Apache-2.0

// Package dispatcher holds workloads back on a Karmada control plane until their queues have room for them.
//
// ResourceBindings that the admission webhook suspended come in, with the workloads that they propagate, and queues. In
// each cycle, plugins order the workloads and check them against the ledger. Grants go out: patches that lift the
// suspension and record on the binding what is charged.
//
// The API server has all state. A binding carries what it was granted, and keeps that until nothing of it can run any
// more, so that a dispatcher that is killed and started again finds the same charges.
package dispatcher
