// SPDX-License-Identifier: Apache-2.0

// Package admission has the webhooks of the dispatcher.
//
// Bindings looks at ResourceBindings when they are created and updated. It suspends those of workloads that belong to
// queues, puts back what only the dispatcher may change, and holds workloads that outgrow their grants. It mutates.
//
// Workloads looks at updates of the objects that bindings propagate. It holds the binding before growth beyond the grant is
// stored, so that no member cluster sees the growth before the queue has room. It validates.
//
// Both run in every replica, and neither keeps anything between requests.
package admission
