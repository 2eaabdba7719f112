// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestUsageKnowsAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		column, known := columns[d.Kind]
		usage := Of([]Entry{{Dimension: d, Used: ledger.Units(1)}})
		switch {
		case !known:
			return "", fmt.Errorf("no column has the kind %s: %+v", d.Kind, usage)
		case column == "" && usage == Usage{}:
			return "", nil
		default:
			return fmt.Sprintf("%+v", usage), nil
		}
	}})
}
