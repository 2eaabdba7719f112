// SPDX-License-Identifier: Apache-2.0

package ledger

import "math/big"

// Format returns an amount in the unit that people use: cores, devices, cards, or a binary unit of bytes. It picks the
// largest binary unit that needs at most three decimals.
func (d Dimension) Format(a Amount) string {
	if !d.Bytes() {
		return a.String()
	}
	value := new(big.Rat).SetFrac(a.Nano(), big.NewInt(nano))
	for i := len(binaryUnits) - 1; i >= 0; i-- {
		unit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(10*(i+1))))
		scaled := new(big.Rat).Quo(value, unit)
		if new(big.Rat).Abs(scaled).Cmp(big.NewRat(1, 1)) >= 0 && decimals(scaled) <= 3 {
			return decimal(scaled) + binaryUnits[i]
		}
	}
	return a.String()
}

var binaryUnits = []string{"KiB", "MiB", "GiB", "TiB", "PiB"}

// decimal formats a rational number without loss and without trailing zeros. The denominator must divide a power of
// ten. This holds for amounts, also in binary units.
func decimal(r *big.Rat) string {
	return r.FloatString(decimals(r))
}

func decimals(r *big.Rat) int {
	n, _ := r.FloatPrec()
	return n
}
