// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestTheTextOfAnExactQuantityIsTheSameQuantity(t *testing.T) {
	for written, want := range map[string]string{
		"0": "0", "1n": "1n", "100m": "100m", "1.5": "1500m", "4Gi": "4Gi", "9E": "9E", "8Ei": "9223372036854775807", "9223372036854775808": "9223372036854775808",
		"10E": "10E", "1e19": "10e18", "999E": "999E", "1000E": "1e21", "1e21": "1e21", "1500E": "1500E", "100000000000000000000000": "100e21", "-1000E": "-1e21",
		"123456789012345678901234": "123456789012345678901234",
	} {
		quantity := resource.MustParse(written)
		data, err := json.Marshal(Exact(quantity))
		if err != nil {
			t.Fatal(err)
		}
		var read resource.Quantity
		if err := json.Unmarshal(data, &read); err != nil || read.Cmp(quantity) != 0 {
			t.Errorf("%s is read as %s, %v", written, read.AsDec(), err)
		}
		if got := text(quantity); got != want {
			t.Errorf("the text of %s is %s, want %s", written, got, want)
		}
	}
}
