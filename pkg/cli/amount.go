// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// parse returns a dimension of the ledger. The note is not empty if only a newer scheduler knows the kind of the dimension.
func parse(d v1alpha1.Dimension) (dimension ledger.Dimension, note string) {
	dimension, err := ledger.ParseKey(ledger.Key{Kind: string(d.Kind), Name: d.Name, Capacity: d.Capacity})
	if err != nil {
		note = fmt.Sprintf(" <%v>", err)
	}
	return dimension, note
}

// FormatAmount formats an amount as the messages of the scheduler do: cores, devices, cards, or bytes in binary units.
func FormatAmount(d v1alpha1.Dimension, quantity resource.Quantity) string {
	decimal := quantity.AsDec()
	amount, err := ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
	if err != nil {
		return quantity.String()
	}
	dimension, note := parse(d)
	return dimension.Format(amount) + note
}

// FormatLimit formats an amount, and nil as a dash.
func FormatLimit(d v1alpha1.Dimension, quantity *resource.Quantity) string {
	if quantity == nil {
		return "-"
	}
	return FormatAmount(d, *quantity)
}

// FormatAmounts formats amounts of several dimensions in one line, such as "nvidia-h100 2, cpu 4".
func FormatAmounts(amounts []v1alpha1.Amount) string {
	parts := make([]string, len(amounts))
	for i := range amounts {
		parts[i] = amounts[i].String() + " " + FormatAmount(amounts[i].Dimension, amounts[i].Amount)
	}
	return strings.Join(parts, ", ")
}

// FormatRounded formats an approximate amount with at most two decimals.
func FormatRounded(d v1alpha1.Dimension, value float64) string {
	dimension, note := parse(d)
	unit := ""
	if dimension.Bytes() {
		for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
			if value < 1024 {
				break
			}
			value, unit = value/1024, larger
		}
	}
	return strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64) + unit + note
}
