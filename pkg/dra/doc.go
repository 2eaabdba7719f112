// Package dra turns ResourceClaims into numbers of devices per DeviceClass and their capacity:
// what a claim asks for, what would be picked for it on a node, and once it is allocated, what it
// holds.
//
// Claims and templates come in through [ClaimReader], classes and slices as a [Catalog]; usages go out
// as plain numbers, and picks of an [Allocator] as allocations. The package knows
// nothing of queues or of the scheduler. "Cannot be counted" is always an error that
// names the object, never a guess.
package dra
