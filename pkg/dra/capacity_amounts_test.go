// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestARequestForCapacityThatCannotBeCountedIsRefused(t *testing.T) {
	const tooMuch, negative = "of capacity memory, which is more than can be counted: request less", "it requests a negative amount of capacity memory: request 0 or more"
	for quantity, want := range map[string]string{
		"9223372036854775807": tooMuch, "8Ei": tooMuch, "1e999999999": tooMuch, "-1n": negative, "-1Gi": negative, "-1e999999999": negative,
	} {
		sized := exactly("r", "h100", 1)
		sized.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: memory(quantity)}
		choice := firstAvailable("r", exactly("s", "h100", 1))
		choice.FirstAvailable[0].Capacity = sized.Exactly.Capacity
		for _, request := range []resourceapi.DeviceRequest{sized, choice} {
			_, err := Requested(&claim(request).Spec)
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v", quantity, err)
			}
		}
	}
}

func TestARequestForMoreDevicesThanCanBeCountedIsRefused(t *testing.T) {
	if _, err := deviceCount(resource.MustParse("1e999999999")); err == nil || err.Error() != "one ResourceClaim holds at most 32 devices: request fewer" {
		t.Errorf("the error is %v", err)
	}
}
