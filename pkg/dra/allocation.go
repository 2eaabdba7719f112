package dra

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// allocated counts the devices of an allocation, each by the class of the request that it
// came from.
func allocated(claim *resourceapi.ResourceClaim) (Usage, error) {
	var usage Usage
	index := map[string]int{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		class, found := classOf(claim.Spec.Devices.Requests, result.Request)
		if !found {
			return Usage{}, fmt.Errorf("device %s/%s/%s is allocated for request %s, which is not in its spec",
				result.Driver, result.Pool, result.Device, result.Request)
		}
		if i, known := index[class]; known {
			usage.Devices[i].Count++
			continue
		}
		index[class] = len(usage.Devices)
		usage.Devices = append(usage.Devices, Devices{Class: class, Count: 1})
	}
	return usage, nil
}

// classOf finds the class of a request by the name that an allocation result uses: the
// request's own, or request/alternative for firstAvailable.
func classOf(requests []resourceapi.DeviceRequest, name string) (string, bool) {
	main, sub, _ := strings.Cut(name, "/")
	for _, request := range requests {
		if request.Name != main {
			continue
		}
		if request.Exactly != nil {
			return request.Exactly.DeviceClassName, true
		}
		for _, alternative := range request.FirstAvailable {
			if alternative.Name == sub {
				return alternative.DeviceClassName, true
			}
		}
	}
	return "", false
}
