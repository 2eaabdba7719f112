// SPDX-License-Identifier: Apache-2.0

// Package dispatcher holds workloads back on a Karmada control plane until their queues have room for them.
//
// Its inputs are queues, workloads, and the ResourceBindings that the admission webhook has suspended. In each cycle, plugins order the workloads and
// check them against the ledger. Its outputs are grants. A grant is a patch of the binding: it lifts the suspension and records the charge.
//
// All state is on the API server. A binding keeps its grant until none of its pods can run any more. A dispatcher that is
// restarted therefore finds the same charges.
package dispatcher
