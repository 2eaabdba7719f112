// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
)

const (
	// With manySeries in a record, accounting.Other counts for new namespaces and labels. A record has at most maxSeries, because an object
	// of the API server must be smaller than 1.5 MiB, and a series takes up to 700 bytes.
	manySeries, maxSeries = 1000, 2000
	// forOthers of the many are kept for namespaces with few series. A user who invents labels in one namespace cannot take the room of other
	// namespaces.
	forOthers, fewSeries = 200, 50
	// maxName limits the name of an object, a class, a card, or a capacity, and maxResource the name of a resource.
	maxName, maxResource = 253, 317
)

// queueRecord is the latest record of a queue.
type queueRecord struct {
	// name is the name of the record. It is empty before the first increment counts. sums are the sums up to the checkpoint.
	name string
	sums map[accounting.Series]Sum
	// known is the record that was read or written last. It may be the next record, if that was written and does not count yet.
	known metav1.ObjectMeta
	// end is the end of the period. through is the end of the time that the record covered when it was read.
	end, through time.Time
	// grown has, by series, the end of the last period in which the series grew.
	grown map[accounting.Series]time.Time
	// unfinished reports whether the API server has an increment that does not count.
	unfinished bool
}

// draft is a record with an increment.
type draft struct {
	object *v1alpha1.UsageRecord
	sums   map[accounting.Series]Sum
}

// with returns the record with an increment. An increment in a later period starts a new record. It drops the series that have not grown
// during the retention, to make room for new series.
func (r *queueRecord) with(queue string, increment *accounting.Increment, added accounting.Sums, retention time.Duration) *draft {
	d := &draft{sums: make(map[accounting.Series]Sum, len(r.sums)), object: &v1alpha1.UsageRecord{
		ObjectMeta: metav1.ObjectMeta{Name: NameOf(queue, increment.Start, increment.End)},
		Spec: v1alpha1.UsageRecordSpec{
			Queue: queue, Start: metav1.NewTime(increment.Start), End: metav1.NewTime(increment.End), Through: metav1.NewTime(increment.Through),
		},
	}}
	if r.known.Name == d.object.Name {
		d.object.ObjectMeta = *r.known.DeepCopy()
	}
	oldest := increment.Through.Add(-retention)
	for series, sum := range r.sums {
		if r.name != d.object.Name {
			if r.grown[series].Before(oldest) {
				continue
			}
			sum = Sum{Before: sum.Total()}
		}
		d.sums[series] = sum
	}
	d.add(bounded(d.sums, added))
	return d
}

func (d *draft) add(added accounting.Sums) {
	for series, amount := range added {
		sum := d.sums[series]
		if more, err := sum.Seconds.Add(amount); err == nil {
			sum.Seconds = more
		}
		d.sums[series] = sum
	}
	entries := make([]v1alpha1.UsageSeries, 0, len(d.sums))
	for series, sum := range d.sums {
		entry, _ := entryOf(series, sum, added[series]) // Write has checked for an error
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, compareEntries)
	d.object.Spec.Series = entries
}

// NameOf returns the name of the record of a queue and a period: queue.2026-11-22 for a day, queue.2026-11-22t06 for less.
func NameOf(queue string, start, end time.Time) string {
	suffix := "." + start.UTC().Format(time.DateOnly)
	if end.Sub(start) < 24*time.Hour {
		suffix += start.UTC().Format("t15")
	}
	if len(queue)+len(suffix) > maxName {
		return strings.TrimRight(queue[:maxName-len(suffix)-len(digest(queue))], "-.") + digest(queue) + suffix
	}
	return queue + suffix
}
