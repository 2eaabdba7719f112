// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestADeviceIsChargedInEachSpellingOfItsCapacity uses device big of driver with memory of 80Gi. Claims and quotas cannot
// bypass each other by the spelling.
func TestADeviceIsChargedInEachSpellingOfItsCapacity(t *testing.T) {
	dimensions, memory := scale()
	for _, name := range []string{"driver/memory", "other.example.com/memory"} {
		dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: name})
	}
	const want = "H100:1 h100/driver/memory:80GiB h100/memory:80GiB h100:1"
	memory.Begin(catalog())
	c := claim("c", exactly("h100", 1))
	amounts, lacking, err := memory.Picked(memory.Of(c), on(c, "big").Status.Allocation)
	if got := text(dimensions, amounts); err != nil || got != want {
		t.Errorf("picked %s (%v), want %s", got, err, want)
	}
	// Driver other.example.com is unknown, so the name may be misspelled.
	if len(lacking) != 1 || dimensions.Dimension(lacking[0]).Capacity != "other.example.com/memory" {
		t.Errorf("lacking %v", lacking)
	}
	memory.Begin(catalog())
	if got := text(dimensions, memory.Of(on(c, "big")).Part.Amounts()); got != want {
		t.Errorf("allocated %s, want %s", got, want)
	}
	if got := text(dimensions, memory.Of(claim("asks", sized(exactly("h100", 2), "10Gi"))).Part.Amounts()); got != "H100:2 h100/driver/memory:20GiB h100/memory:20GiB h100:2" {
		t.Errorf("asked for %s", got)
	}
}
