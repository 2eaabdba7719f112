// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// DeviceCondition is a condition of an allocated device that a pod waits for, or that says that the pod waits for nothing
// (KEP-5007). The driver of the device publishes the names of these conditions, and writes them to the status of the claim.
type DeviceCondition struct {
	Device DeviceID
	Type   string
	// Reason and Message come from the driver. They are empty until the driver writes the condition.
	Reason, Message string
}

// String names the condition and the device, with the reason and message of the driver.
func (c DeviceCondition) String() string {
	text := fmt.Sprintf("condition %s of device %s", c.Type, c.Device)
	switch {
	case c.Reason != "" && c.Message != "":
		return fmt.Sprintf("%s (%s: %s)", text, c.Reason, c.Message)
	case c.Reason+c.Message != "":
		return fmt.Sprintf("%s (%s)", text, c.Reason+c.Message)
	default:
		return text
	}
}

// UnmetConditions returns the binding conditions of an allocated claim that are not true. A pod must not be bound while there are any.
func UnmetConditions(claim *resourceapi.ResourceClaim) []DeviceCondition {
	return conditionsOf(claim, func(device *resourceapi.DeviceRequestAllocationResult) []string { return device.BindingConditions }, false)
}

// FailedConditions returns the binding failure conditions of an allocated claim that are true. The pod cannot use the devices
// with these conditions.
func FailedConditions(claim *resourceapi.ResourceClaim) []DeviceCondition {
	return conditionsOf(claim, func(device *resourceapi.DeviceRequestAllocationResult) []string {
		return device.BindingFailureConditions
	}, true)
}

// conditionsOf returns the conditions of some types that are true or, if isTrue is false, that are not true. A condition that
// the driver has not written is not true. Devices without binding conditions have no conditions.
func conditionsOf(claim *resourceapi.ResourceClaim, types func(*resourceapi.DeviceRequestAllocationResult) []string, isTrue bool) []DeviceCondition {
	if claim.Status.Allocation == nil {
		return nil
	}
	var found []DeviceCondition
	for i := range claim.Status.Allocation.Devices.Results {
		device := &claim.Status.Allocation.Devices.Results[i]
		if len(device.BindingConditions) == 0 {
			continue
		}
		written := writtenConditions(claim, device)
		for _, name := range types(device) {
			condition := apimeta.FindStatusCondition(written, name)
			if (condition != nil && condition.Status == metav1.ConditionTrue) != isTrue {
				continue
			}
			named := DeviceCondition{Device: idOf(device), Type: name}
			if condition != nil {
				named.Reason, named.Message = condition.Reason, condition.Message
			}
			found = append(found, named)
		}
	}
	return found
}

// writtenConditions returns the conditions that the driver has written for a device or a share of it.
func writtenConditions(claim *resourceapi.ResourceClaim, device *resourceapi.DeviceRequestAllocationResult) []metav1.Condition {
	for i := range claim.Status.Devices {
		status := &claim.Status.Devices[i]
		if status.Driver == device.Driver && status.Pool == device.Pool && status.Device == device.Device &&
			ptr.Deref(status.ShareID, "") == string(ptr.Deref(device.ShareID, "")) {
			return status.Conditions
		}
	}
	return nil
}
