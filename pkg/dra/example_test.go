// SPDX-License-Identifier: Apache-2.0

package dra_test

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// A claim requests four devices of one class, and one device of either of two classes.
func ExampleRequested() {
	usage, err := dra.Requested(&resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{
		{Name: "gpus", Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: "nvidia-h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 4,
		}},
		{Name: "nic", FirstAvailable: []resourceapi.DeviceSubRequest{
			{Name: "fast", DeviceClassName: "nic-400g", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
			{Name: "slow", DeviceClassName: "nic-100g", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
		}},
	}}})
	if err != nil {
		panic(err)
	}
	for _, d := range usage.Devices {
		fmt.Println(d.Count, d.Class)
	}
	for _, alternatives := range usage.Choices {
		for _, d := range alternatives {
			fmt.Println("or", d.Count, d.Class)
		}
	}
	// Output:
	// 4 nvidia-h100
	// or 1 nic-400g
	// or 1 nic-100g
}

// A catalog contains the classes, so callers can check whether requested classes exist.
func ExampleNewCatalog() {
	catalog := dra.NewCatalog([]*resourceapi.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "nvidia-h100"}}}, nil)
	usage := &dra.Usage{Devices: []dra.Devices{{Class: "nvidia-h100", Count: 1}, {Class: "nvidia-h200", Count: 1}}}
	fmt.Println(dra.CheckClasses("ResourceClaim default/gpu", usage, catalog))
	// Output: ResourceClaim default/gpu: DeviceClass nvidia-h200 does not exist: create it or correct the name
}
