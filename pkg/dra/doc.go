// SPDX-License-Identifier: Apache-2.0

// Package dra turns ResourceClaims into numbers of devices per DeviceClass, with their capacity: the request of a claim
// ([Requested]), the devices that an [Allocator] picks for it on a node, and the usage of an allocated claim ([Allocated]). A
// [Matcher] finds the other classes that a device matches.
//
// A [ClaimReader] reads claims and templates. A [Catalog] holds classes and slices. The package does not depend on queues or on
// the scheduler. If a claim cannot be counted, the error names the object and the remedy.
package dra
