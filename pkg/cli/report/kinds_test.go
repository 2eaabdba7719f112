// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/prometheus/common/model"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestReportsReadAllKinds(t *testing.T) {
	labels := map[string]model.Metric{}
	kindtest.Run(t, kindtest.Form[string]{
		Write: func(d ledger.Dimension) (string, error) {
			key := d.Kind.String() + " " + d.String()
			labels[key] = model.Metric{"queue": "q", "namespace": "monitoring", "exported_namespace": "ns", "job": "scheduler"}
			for label, value := range d.Labels {
				labels[key][model.LabelName(label)] = model.LabelValue(value)
			}
			return key, nil
		},
		Read: func(key string) (ledger.Dimension, error) {
			series, err := seriesOf(labels[key])
			return series.Dimension, err
		},
	})
}
