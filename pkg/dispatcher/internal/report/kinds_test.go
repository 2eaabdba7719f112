// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestGaugesHaveAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		gauges, values := gaugesOf(d)
		if gauges == nil {
			return "", fmt.Errorf("no gauge has the kind %s", d.Kind)
		}
		for i := range gauges {
			if _, err := prometheus.NewConstMetric(gauges[i].desc, prometheus.GaugeValue, 1, append([]string{"q"}, values...)...); err != nil {
				return "", err
			}
		}
		return fmt.Sprint(gauges[0].desc, values), nil
	}})
}
