// SPDX-License-Identifier: Apache-2.0

// Package needs counts what workloads need and what queues limit, on a control plane that has no nodes, pods, or devices.
//
// Its inputs are templates of workloads, the clusters that they go to, queues, DeviceClasses, and ResourceClaimTemplates. The results
// are amounts of the ledger. If an amount depends on a choice of the member cluster, the maximum counts. A result is valid until
// one of its inputs changes: see [Counted].
package needs
