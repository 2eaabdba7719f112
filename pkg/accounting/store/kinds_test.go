// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestRecordsHaveAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[v1alpha1.UsageSeries]{
		Write: func(d ledger.Dimension) (v1alpha1.UsageSeries, error) {
			return entryOf(accounting.Series{Dimension: d}, Sum{}, ledger.Amount{})
		},
		Read: func(entry v1alpha1.UsageSeries) (ledger.Dimension, error) {
			series, err := seriesOf("q", &entry)
			return series.Dimension, err
		},
		Lists: true,
	})
}

// TestAKindWithoutAFieldIsNotRecordedAsAnother: nothing is lost, because the increment is written again.
func TestAKindWithoutAFieldIsNotRecordedAsAnother(t *testing.T) {
	s := newServer()
	i := increment(midnight, midnight.Add(1), map[string]int64{"q": 5})
	i.Added.Add(accounting.Series{Queue: "q", Dimension: ledger.Dimension{Kind: ledger.Kind(len(ledger.Kinds)), Name: "gpu"}}, ledger.Units(1))
	if err := load(t, s).Write(t.Context(), i); err == nil || len(s.records) != 0 {
		t.Errorf("%d records are written, error %v", len(s.records), err)
	}
	unknown := &v1alpha1.UsageRecord{Spec: v1alpha1.UsageRecordSpec{Queue: "q", Series: []v1alpha1.UsageSeries{{Measure: v1alpha1.Used, Seconds: "1"}}}}
	if sums, err := Sums(unknown, 0); err == nil {
		t.Errorf("a series of a kind that the record has no field for is read as %v", sums)
	}
}
