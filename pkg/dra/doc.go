// Package dra turns ResourceClaims into numbers of devices per DeviceClass: what a claim
// asks for, and once it is allocated, what it holds.
//
// Objects come in through [Source]; usages go out as plain numbers. The package knows
// nothing of queues or of the scheduler. "Cannot be counted" is always an error that
// names the object, never a guess.
package dra
