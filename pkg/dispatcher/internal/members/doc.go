// SPDX-License-Identifier: Apache-2.0

// Package members says whether some member cluster can hold the largest part of a workload in one piece. The sum of
// clusters, which quotas count by, does not tell that.
//
// Karmada's Cluster objects come in, with their resource summaries, and what members report themselves: nodes and pods for
// cards, ResourceSlices, DeviceClasses, and ResourceClaims for devices. Figures of clusters are made from that when something
// changes. A Session asks them in each cycle, and adds what has been granted and is not in the figures yet.
//
// An answer is an estimate to the good side. It knows clusters, not nodes, and Karmada's scheduler chooses the cluster.
package members
