// SPDX-License-Identifier: Apache-2.0

// Package admission has the webhooks of the dispatcher.
//
// Bindings mutates ResourceBindings when they are created and updated. It suspends the bindings of workloads that belong to
// queues, reverts changes that only the dispatcher may make, and holds workloads that outgrow their grants.
//
// Workloads validates updates of the objects that bindings propagate. It holds the binding before growth beyond the grant is
// stored. No member cluster sees the growth before the queue has room. Claims validates claims and claim templates.
//
// All run in every replica, and keep nothing between requests.
package admission
