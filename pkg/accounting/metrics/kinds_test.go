// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestCountersHaveAllKinds(t *testing.T) {
	for _, measure := range []accounting.Measure{accounting.Used, accounting.GuaranteedIdle, accounting.Waited} {
		kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
			var written dto.Metric
			m, err := New(nil, "team").metric(&accounting.Series{Measure: measure, Queue: "q", Namespace: "ns", Dimension: d}, ledger.Units(1))
			if err != nil {
				return "", err
			}
			err = m.Write(&written)
			return m.Desc().String() + written.String(), err
		}})
	}
}
