// SPDX-License-Identifier: Apache-2.0

// Package needs counts what workloads need and what queues limit, on a control plane that has no nodes, pods, or devices.
//
// Templates of workloads come in, and to how many clusters they go. Queues, DeviceClasses, and ResourceClaimTemplates
// come in, too. Amounts of the ledger go out. What depends on a choice that a member cluster makes counts with the most
// that it may come to. What was
// counted holds until something changes that it was counted by: see [Counted].
package needs
