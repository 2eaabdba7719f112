// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// bounded fits the series of an increment into the record. If the record has many series, new ones become others.
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

// roomFor returns the series for a new series, given the number of all series and of those with the same namespace.
func roomFor(series accounting.Series, count, ofNamespace int) accounting.Series {
	switch {
	case count >= manySeries:
		series.Namespace, series.Label = accounting.Other, accounting.Other
	case count >= manySeries-forOthers && ofNamespace >= fewSeries && series.Label != "":
		series.Label = accounting.Other
	}
	return series
}

// compareSeries makes the choice of the series that become others deterministic.
func compareSeries(a, b accounting.Series) int {
	x, _ := entryOf(a, Sum{}, ledger.Amount{})
	y, _ := entryOf(b, Sum{}, ledger.Amount{})
	return compareEntries(x, y)
}

// fitting shortens the names of a dimension for the API server, which would otherwise refuse the record of the queue.
func fitting(d ledger.Dimension) ledger.Dimension {
	most := maxName
	if d.Kind == ledger.Resource {
		most = maxResource
	}
	d.Name, d.Capacity = shortened(d.Name, most), shortened(d.Capacity, maxName)
	return d
}

// shortened returns a text of at most a number of bytes. A hash replaces the rest.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(digest(text))], "") + digest(text)
}

// digest stands for the end of a text that is too long.
func digest(text string) string { return fmt.Sprintf("-%.8x", sha256.Sum256([]byte(text))) }

// noteGrowth records which series have grown in the period of a record.
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

// grownIn returns the last growth of the series of a record.
func grownIn(end time.Time, sums map[accounting.Series]Sum, before map[accounting.Series]time.Time) map[accounting.Series]time.Time {
	grown := make(map[accounting.Series]time.Time, len(sums))
	for series, sum := range sums {
		if grown[series] = before[series]; sum.Seconds.Sign() != 0 {
			grown[series] = end
		}
	}
	return grown
}
