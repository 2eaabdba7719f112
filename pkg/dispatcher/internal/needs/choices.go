// SPDX-License-Identifier: Apache-2.0

package needs

import "github.com/devicequota/devicequota/pkg/ledger"

// choose notes that the member chooses among alternatives that come to these amounts. What cannot be counted has been reported.
func (w *counting) choose(alternatives ledger.Amounts, err error) {
	if err != nil {
		return
	}
	if w.choices == nil {
		w.choices = map[ledger.Ordinal]bool{}
	}
	for _, e := range alternatives {
		w.choices[e.Dimension] = true
	}
}
