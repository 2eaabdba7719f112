// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Sum is the sum of a series in a record.
type Sum struct {
	// Before is the sum of all earlier periods, and Seconds the sum of the period.
	Before, Seconds ledger.Amount
}

// Total returns the sum since the first record of the queue.
func (s Sum) Total() ledger.Amount {
	total, err := s.Before.Add(s.Seconds)
	if err != nil {
		return s.Before
	}
	return total
}

// Sums returns the sums of a record. Through is the time of the checkpoint: the additions of an unfinished write do not count.
func Sums(record *v1alpha1.UsageRecord, through int64) (map[accounting.Series]Sum, error) {
	unfinished := record.Spec.Through.Unix() > through
	sums := make(map[accounting.Series]Sum, len(record.Spec.Series))
	for i := range record.Spec.Series {
		entry := &record.Spec.Series[i]
		series, err := seriesOf(record.Spec.Queue, entry)
		before, beforeErr := parse(entry.Before)
		seconds, secondsErr := parse(entry.Seconds)
		if err := errors.Join(err, beforeErr, secondsErr); err != nil {
			return nil, fmt.Errorf("UsageRecord %s: %w", record.Name, err)
		}
		if unfinished {
			added, err := parse(entry.LastAdded)
			if err == nil {
				seconds, err = seconds.Sub(added)
			}
			if err != nil || seconds.Sign() < 0 {
				return nil, fmt.Errorf("UsageRecord %s: lastAdded %q of %q is invalid", record.Name, entry.LastAdded, entry.Seconds)
			}
		}
		if before.Sign() != 0 || seconds.Sign() != 0 {
			sums[series] = Sum{before, seconds}
		}
	}
	return sums, nil
}

func parse(text v1alpha1.Seconds) (ledger.Amount, error) {
	if text == "" {
		return ledger.Amount{}, nil
	}
	whole, decimals, _ := strings.Cut(string(text), ".")
	digits, valid := new(big.Int).SetString(whole+decimals, 10)
	if !valid || digits.Sign() < 0 {
		return ledger.Amount{}, fmt.Errorf("%q is not a number of seconds", text)
	}
	return ledger.FromDecimal(digits, int32(len(decimals)))
}

// nothing is the sum of a series that has not grown in a period.
const nothing v1alpha1.Seconds = "0"

// format returns the text of an amount. It is empty for zero.
func format(amount ledger.Amount) v1alpha1.Seconds {
	if amount.Sign() == 0 {
		return ""
	}
	return v1alpha1.Seconds(amount.String())
}

var measures = map[accounting.Measure]v1alpha1.Measure{
	accounting.Used: v1alpha1.Used, accounting.GuaranteedIdle: v1alpha1.GuaranteedIdle, accounting.Waited: v1alpha1.Waited,
}

// fieldOf returns the field of an entry for a metric label, or nil if there is none.
func fieldOf(entry *v1alpha1.UsageSeries, label string) *string {
	switch label {
	case "device_class":
		return &entry.DeviceClass
	case "capacity":
		return &entry.Capacity
	case "card":
		return &entry.Card
	case "resource":
		return &entry.Resource
	default:
		return nil
	}
}

func seriesOf(queue string, entry *v1alpha1.UsageSeries) (accounting.Series, error) {
	series := accounting.Series{Queue: queue, Namespace: entry.Namespace, Label: entry.Label}
	for measure, name := range measures {
		if name == entry.Measure {
			series.Measure = measure
		}
	}
	var err error
	series.Dimension, err = ledger.ParseLabels(func(label string) string { return ptr.Deref(fieldOf(entry, label), "") })
	return series, err
}

func entryOf(series accounting.Series, sum Sum, added ledger.Amount) (v1alpha1.UsageSeries, error) {
	entry := v1alpha1.UsageSeries{
		Measure: measures[series.Measure], Namespace: series.Namespace, Label: series.Label,
		Seconds: cmp.Or(format(sum.Seconds), nothing), LastAdded: format(added), Before: format(sum.Before),
	}
	for label, value := range series.Dimension.Labels {
		field := fieldOf(&entry, label)
		if field == nil {
			return entry, fmt.Errorf("%s %s: a UsageRecord has no field for %s", series.Dimension.Kind, series.Dimension, label)
		}
		*field = value
	}
	return entry, nil
}

// compareEntries orders the series of a record.
func compareEntries(a, b v1alpha1.UsageSeries) int {
	return cmp.Or(
		cmp.Compare(a.Measure, b.Measure), cmp.Compare(a.DeviceClass, b.DeviceClass), cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(a.Card, b.Card),
		cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Label, b.Label),
	)
}
