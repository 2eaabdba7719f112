// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestGrantsHaveAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{
		Write: func(d ledger.Dimension) (string, error) {
			return (&Grant{Queue: "q", Amounts: []Amount{{Dimension: d, Amount: ledger.Units(1)}}}).Annotation(), nil
		},
		Read: func(text string) (ledger.Dimension, error) {
			grant, err := ParseGrant(text)
			if err != nil {
				return ledger.Dimension{}, err
			}
			return grant.Amounts[0].Dimension, nil
		},
	})
}
