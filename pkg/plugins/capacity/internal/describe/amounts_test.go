// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"encoding/json"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestAmountsOfAnySizeAreToldExactly(t *testing.T) {
	for _, d := range []ledger.Dimension{{Kind: ledger.Resource, Name: "cpu"}, {Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}} {
		for _, written := range []string{"0", "1n", "100m", "1.5", "80Gi", "9E", "8Ei", "9223372036854775808", "1e19", "1e21", "1000E", "123456789012345678901", "1e28"} {
			decimal := ptr.To(resource.MustParse(written)).AsDec()
			amount, err := ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(Quantity(d, amount))
			if err != nil {
				t.Fatal(err)
			}
			var read resource.Quantity
			if err := json.Unmarshal(data, &read); err != nil || read.Cmp(resource.MustParse(written)) != 0 {
				t.Errorf("%s of %s is told as %s, %v", written, d, data, err)
			}
		}
	}
}

func TestDevicesAndCardsComeBeforeResources(t *testing.T) {
	var dimensions []v1alpha1.Dimension
	for _, d := range []ledger.Dimension{
		{Kind: ledger.Resource, Name: "cpu"}, {Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}, {Kind: ledger.DeviceCount, Name: "h100"},
		{Kind: ledger.DeviceCount, Name: "a100"}, {Kind: ledger.Card, Name: "NVIDIA-H100"},
	} {
		dimensions = append(dimensions, Dimension(d))
	}
	slices.SortFunc(dimensions, CompareDimensions)
	var names []string
	for _, d := range dimensions {
		names = append(names, d.String())
	}
	if want := []string{"NVIDIA-H100", "a100", "h100", "h100/memory", "cpu"}; !slices.Equal(names, want) {
		t.Errorf("the order is %v, want %v", names, want)
	}
}
