// SPDX-License-Identifier: Apache-2.0

// Package dra turns ResourceClaims into numbers of devices per DeviceClass, with their capacity: what a
// claim requests ([Requested]), which devices an [Allocator] picks for it on a node, and what an allocated
// claim uses ([Allocated]). A [Matcher] finds the other classes that a device matches.
//
// Claims and templates are read through a [ClaimReader]; classes and slices are a [Catalog]. The package
// does not depend on queues or on the scheduler. If a claim cannot be counted, the error names the object
// and the remedy.
package dra
