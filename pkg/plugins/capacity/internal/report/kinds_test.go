// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestGaugesHaveAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		gauges, known := gaugesOf[d.Kind]
		if !known {
			return "", fmt.Errorf("no gauge has the kind %s", d.Kind)
		}
		if gauges == nil {
			return "", nil
		}
		labels := append([]string{"kinds"}, d.LabelValues()...)
		for i := range gauges {
			made, err := gauges[i].vector.GetMetricWithLabelValues(labels...)
			if err != nil {
				return "", fmt.Errorf("%s: %w", made.Desc(), err)
			}
			gauges[i].vector.DeleteLabelValues(labels...)
		}
		return fmt.Sprint(d.Kind, labels), nil
	}})
}
