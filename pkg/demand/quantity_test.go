// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestAQuantityOfAnySizeIsRoundedUpToTheUnitOfVolcano(t *testing.T) {
	for written, want := range map[string][2]string{ // in whole units and in thousandths
		"0": {"0", "0"}, "1n": {"1", "0.001"}, "100m": {"1", "0.1"}, "1.5": {"2", "1.5"}, "1500.0001": {"1501", "1500.001"}, "-1": {"0", "0"}, "-10E": {"0", "0"},
		"9223372036854775":        {"9223372036854775", "9223372036854775"},
		"9223372036854775807":     {"9223372036854775807", "9223372036854775807"},
		"8Ei":                     {"9223372036854775807", "9223372036854775807"},
		"9223372036854775807.001": {"9223372036854775808", "9223372036854775807.001"},
		"10P":                     {"10000000000000000", "10000000000000000"},
		"9E":                      {"9000000000000000000", "9000000000000000000"},
		"1e19":                    {"10000000000000000000", "10000000000000000000"},
		"1000E":                   {"1000000000000000000000", "1000000000000000000000"},
		"1e29":                    {beyondAll.String(), beyondAll.String()},
		"1e40":                    {beyondAll.String(), beyondAll.String()},
		"1e999999999":             {beyondAll.String(), beyondAll.String()},
	} {
		for i, unit := range []uint64{whole, thousandth} {
			if got := roundedUp(resource.MustParse(written), unit).String(); got != want[i] {
				t.Errorf("%s in units of %d billionths is %s, want %s", written, unit, got, want[i])
			}
		}
	}
}

func TestSmallQuantitiesAreRoundedAsKubernetesDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		quantity := resource.NewScaledQuantity(random.Int64N(1_000_000_000_000), resource.Scale(random.IntN(10)-9))
		if got, want := roundedUp(*quantity, whole), ledger.Units(quantity.Value()); got != want {
			t.Fatalf("%s is %s, want %s", quantity, got, want)
		}
		if got, want := roundedUp(*quantity, thousandth), ledger.Scaled(quantity.MilliValue(), thousandth); got != want {
			t.Fatalf("%s is %s, want %s", quantity, got, want)
		}
	}
}
