// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Unplaceable refuses a pod because of a claim that no node can serve.
type Unplaceable struct{ Err error }

// Reason implements Refusal.
func (Unplaceable) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (u Unplaceable) Message() string { return u.Err.Error() }

// ClaimBusy refuses a pod because of a temporary state of a claim.
type ClaimBusy struct{ Claim, Why string }

// Reason implements Refusal. The state ends by itself.
func (ClaimBusy) Reason() string { return "" }

// Message implements Refusal.
func (c ClaimBusy) Message() string { return fmt.Sprintf("ResourceClaim %s %s", c.Claim, c.Why) }

// PickFailed refuses a pod because an error keeps the scheduler from picking devices.
type PickFailed struct{ Err error }

// Reason implements Refusal.
func (PickFailed) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (p PickFailed) Message() string { return "The scheduler cannot pick devices: " + p.Err.Error() }

// SearchUnfinished refuses a pod whose claims allow more combinations of alternatives and devices than the scheduler tries.
type SearchUnfinished struct {
	// Claims are the claims that need devices.
	Claims []string
	// Requests is the number of their requests. Each alternative of a request counts.
	Requests int
	// Later says that the search continues in a later session.
	Later bool
}

// Reason implements Refusal.
func (SearchUnfinished) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (s SearchUnfinished) Message() string {
	if s.Later {
		return fmt.Sprintf("The scheduler has not tried all devices that the pod may get: for ResourceClaims %s with <%d> requests and alternatives that takes long, and goes on when it is their turn: use fewer requests, alternatives, and constraints, and it is faster",
			refusals.List(s.Claims), s.Requests)
	}
	return fmt.Sprintf("The scheduler did not try all devices that the pod may get: ResourceClaims %s have <%d> requests and alternatives with too many combinations, and none of those that were tried is free and within the quota: use fewer alternatives, or more pods with fewer claims each",
		refusals.List(s.Claims), s.Requests)
}

// DeviceAllocatedTwice refuses a pod whose claim has a device that another claim also has.
type DeviceAllocatedTwice struct {
	*dra.Conflict
	// Claim is the claim of the pod.
	Claim string
}

// Reason implements Refusal.
func (DeviceAllocatedTwice) Reason() string { return DeviceAllocatedTwiceReason }

// Message implements Refusal.
func (d DeviceAllocatedTwice) Message() string {
	return fmt.Sprintf("ResourceClaim %s cannot be used: %s. It gets other devices if no other pod uses it; otherwise, delete the pods that use it", d.Claim, d.Conflict)
}

// DevicesNotReady refuses a pod whose claim has devices that do not become ready (KEP-5007).
type DevicesNotReady struct{ Err error }

// Reason implements Refusal.
func (DevicesNotReady) Reason() string { return DevicesNotReadyReason }

// Message implements Refusal.
func (d DevicesNotReady) Message() string {
	return d.Err.Error() + ". The claim gets other devices if no other pod uses it; otherwise, delete the pods that use it"
}

// UnknownCapacity refuses a claim that asks for a capacity that no device has.
type UnknownCapacity struct{ Claim, Capacity string }

// Reason implements Refusal.
func (UnknownCapacity) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (u UnknownCapacity) Message() string {
	return fmt.Sprintf("ResourceClaim %s asks for a capacity %s, which no device has: correct the name", u.Claim, u.Capacity)
}

// InsufficientDevices refuses a pod whose devices the quota allows, but no node has free.
type InsufficientDevices struct {
	// Classes are the DeviceClasses that the pod asks for.
	Classes []string
	// AtRoot lists the holders of these classes that only root is charged for: users would not look for them there.
	AtRoot []RootHolder
	// Together says that the pods of the job have to be in one HyperNode, so that each of them alone may fit on a node.
	Together bool
}

// RootHolder holds devices that are charged to root because their queue is unknown.
type RootHolder struct {
	Class string
	Count int
	Who   string
}

// Reason implements Refusal.
func (InsufficientDevices) Reason() string { return InsufficientDevicesReason }

// Message implements Refusal.
func (i InsufficientDevices) Message() string {
	classes := strings.Join(i.Classes, ", ")
	message := "No node has enough free devices of " + classes
	if i.Together {
		message = "No HyperNode that the job may use has enough free devices of " + classes + " on suitable nodes"
	}
	message += "; the quota of the queue allows them."
	if len(i.AtRoot) == 0 {
		return message
	}
	var holders []string
	for _, h := range i.AtRoot {
		holders = append(holders, fmt.Sprintf("%d of %s by %s", h.Count, h.Class, h.Who))
	}
	return message + " Devices that are held by no known queue, and charged to queue <root>: " + refusals.List(holders)
}

// CapacityInUseUnknown refuses devices of a class with a limited capacity, because another claim holds a device whose
// capacity is no longer known.
type CapacityInUseUnknown struct {
	Queue    string
	Capacity ledger.Dimension
	// Device is held by Claim, but not listed in any ResourceSlice.
	Device dra.DeviceID
	Claim  string
}

// Reason implements Refusal.
func (CapacityInUseUnknown) Reason() string { return TaskRequestFailedReason }

// Message implements Refusal.
func (c CapacityInUseUnknown) Message() string {
	return fmt.Sprintf("Queue <%s> limits <%s>, but no ResourceSlice lists device %s of ResourceClaim %s any more, so that its capacity is not known: start its driver again, or delete the claim",
		c.Queue, c.Capacity, c.Device, c.Claim)
}
