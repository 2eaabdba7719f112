// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

func TestAmountsAreWrittenAsInTheMessagesOfTheScheduler(t *testing.T) {
	cpu := v1alpha1.Dimension{Kind: v1alpha1.Resource, Name: "cpu"}
	memory := v1alpha1.Dimension{Kind: v1alpha1.Resource, Name: "memory"}
	capacity := v1alpha1.Dimension{Kind: v1alpha1.DeviceCapacity, Name: "nvidia-h100", Capacity: "memory"}
	count := v1alpha1.Dimension{Kind: v1alpha1.Device, Name: "memory"}
	for _, c := range []struct {
		v1alpha1.Dimension
		quantity, exact, rounded string
	}{
		{cpu, "1500m", "1.5", "1.5"},
		{cpu, "1333333n", "0.001333333", "0"},
		{memory, "512Mi", "512MiB", "512MiB"},
		{memory, "1e12", "976562500KiB", "931.32GiB"},
		{memory, "0", "0", "0"},
		{capacity, "320Gi", "320GiB", "320GiB"},
		{capacity, "10E", "9536743164062.5MiB", "8881.78PiB"},
		{count, "1024", "1024", "1024"},
	} {
		quantity := resource.MustParse(c.quantity)
		if got := FormatAmount(c.Dimension, quantity); got != c.exact {
			t.Errorf("%s of %s: got %s, want %s", c.quantity, c.Dimension, got, c.exact)
		}
		if got := FormatRounded(c.Dimension, quantity.AsApproximateFloat64()); got != c.rounded {
			t.Errorf("%s of %s, rounded: got %s, want %s", c.quantity, c.Dimension, got, c.rounded)
		}
	}
}
