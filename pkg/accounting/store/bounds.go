// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// bounded returns an increment whose series fit the record: new ones become others if there are many.
func bounded(sums map[accounting.Series]Sum, added accounting.Sums) accounting.Sums {
	fits := make(accounting.Sums, len(added))
	count, has := len(sums), map[string]int{}
	for series := range sums {
		has[series.Namespace]++
	}
	for _, series := range slices.SortedFunc(maps.Keys(added), compareSeries) {
		amount := added[series]
		series.Dimension = fitting(series.Dimension)
		_, known := sums[series]
		if !known && series.Measure == accounting.Used {
			series = roomFor(series, count, has[series.Namespace])
			_, known = sums[series]
			_, again := fits[series]
			known = known || again
		}
		if !known {
			if count >= maxSeries {
				klog.ErrorS(nil, "A queue has too many series, and something is not counted", "queue", series.Queue, "dimension", series.Dimension.String())
				continue
			}
			count++
			has[series.Namespace]++
		}
		fits.Add(series, amount)
	}
	return fits
}

// roomFor returns what a new series counts as in a record that has so many series, and so many of the same namespace.
func roomFor(series accounting.Series, count, ofNamespace int) accounting.Series {
	switch {
	case count >= manySeries:
		series.Namespace, series.Label = accounting.Other, accounting.Other
	case count >= manySeries-forOthers && ofNamespace >= fewSeries && series.Label != "":
		series.Label = accounting.Other
	}
	return series
}

// compareSeries makes it certain which series become others.
func compareSeries(a, b accounting.Series) int {
	x, _ := entryOf(a, Sum{}, ledger.Amount{})
	y, _ := entryOf(b, Sum{}, ledger.Amount{})
	return compareEntries(x, y)
}

// fitting returns a dimension whose names the API server accepts. One that is too long would keep the record of all queues from being written.
func fitting(d ledger.Dimension) ledger.Dimension {
	most := maxName
	if d.Kind == ledger.Resource {
		most = maxResource
	}
	d.Name, d.Capacity = shortened(d.Name, most), shortened(d.Capacity, maxName)
	return d
}

// shortened returns a text that has as many bytes as there may be. What is cut off is in a hash.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const digits = 16
	hash := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:most-digits-1], "") + "-" + hex.EncodeToString(hash[:])[:digits]
}

// noteGrowth notes which series have grown in the period of a record.
func (r *queueRecord) noteGrowth(record *v1alpha1.UsageRecord) {
	if r.grown == nil {
		r.grown = map[accounting.Series]time.Time{}
	}
	for i := range record.Spec.Series {
		if entry := &record.Spec.Series[i]; entry.Seconds != nothing {
			series, err := seriesOf(record.Spec.Queue, entry) // Sums tells of an error
			if end := record.Spec.End.Time; err == nil && end.After(r.grown[series]) {
				r.grown[series] = end
			}
		}
	}
}

// grownIn returns when the series of a record have grown last.
func grownIn(end time.Time, sums map[accounting.Series]Sum, before map[accounting.Series]time.Time) map[accounting.Series]time.Time {
	grown := make(map[accounting.Series]time.Time, len(sums))
	for series, sum := range sums {
		if grown[series] = before[series]; sum.Seconds.Sign() != 0 {
			grown[series] = end
		}
	}
	return grown
}
