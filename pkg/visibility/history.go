// SPDX-License-Identifier: Apache-2.0

package visibility

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

const (
	// historyInterval is the time between two values.
	historyInterval = time.Minute
	// historyLength is the number of values that are kept.
	historyLength = 60
	// unknown is the value of a queue that did not exist, or did not count the dimension.
	unknown = -1
)

// SeriesKey identifies a series of the history.
type SeriesKey struct {
	Queue     string
	Dimension v1alpha1.Dimension
}

// history keeps the values of the last hour. All series are as long as times.
type history struct {
	times  []time.Time
	series map[SeriesKey][]float64
}

// HistoryDue reports whether it is time to call Record.
func (p *Publisher) HistoryDue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	times := p.history.times
	return len(times) == 0 || p.clock.Since(times[len(times)-1]) >= historyInterval
}

// Record adds the present allocations of queues to the history.
func (p *Publisher) Record(values map[SeriesKey]float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &p.history
	if h.series == nil {
		h.series = map[SeriesKey][]float64{}
	}
	before := len(h.times)
	h.times = append(h.times, p.clock.Now())
	for key := range values {
		if h.series[key] == nil {
			h.series[key] = slices.Repeat([]float64{unknown}, before)
		}
	}
	for key, series := range h.series {
		value, found := values[key]
		if !found {
			value = unknown
		}
		h.series[key] = append(series, value)
	}
	if len(h.times) > historyLength {
		h.dropFirst()
	}
}

// dropFirst drops the oldest values, and series without other values.
func (h *history) dropFirst() {
	h.times = h.times[1:]
	for key, series := range h.series {
		h.series[key] = series[1:]
		if !slices.ContainsFunc(series[1:], func(value float64) bool { return value != unknown }) {
			delete(h.series, key)
		}
	}
}

// History returns the recorded series in no particular order.
func (p *Publisher) History() *v1alpha1.History {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := &v1alpha1.History{Times: make([]metav1.Time, len(p.history.times)), Items: make([]v1alpha1.Series, 0, len(p.history.series))}
	for i, at := range p.history.times {
		told.Times[i] = metav1.NewTime(at)
	}
	for key, series := range p.history.series {
		told.Items = append(told.Items, v1alpha1.Series{Queue: key.Queue, Dimension: key.Dimension, Values: slices.Clone(series)})
	}
	return told
}
