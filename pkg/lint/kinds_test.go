// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

// Cards are in annotations, each with all cards.
func TestLimitsOfAllKindsHaveFields(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		field := fieldOfLimit("capability", d)
		if field == nil {
			return "", fmt.Errorf("no field has limits of the kind %s", d.Kind)
		}
		return d.Kind.String() + " " + d.Name + " " + field.String(), nil
	}})
}
