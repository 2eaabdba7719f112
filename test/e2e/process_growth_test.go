// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/gomega"
)

// processGrowth samples the size of the scheduler's process, to find what it never gives back.
type processGrowth struct {
	goroutines, heap []float64
}

var (
	goroutines = regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	heap       = regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`)
)

func (p *processGrowth) sample(ctx context.Context) {
	metrics := schedulerMetrics(ctx)
	number := func(of *regexp.Regexp) float64 {
		return must(strconv.ParseFloat(of.FindStringSubmatch(metrics)[1], 64))
	}
	p.goroutines, p.heap = append(p.goroutines, number(goroutines)), append(p.heap, number(heap))
}

// expectNone compares the last third of the samples with the second, after the caches have been filled. The smallest heap is that after a collection
// of garbage.
func (p *processGrowth) expectNone() {
	const someGoroutines, someHeap = 50, 16 << 20
	third := len(p.heap) / 3
	Expect(third).To(BeNumerically(">", 2), "so few samples prove nothing")
	before, last := third, len(p.heap)-third
	Expect(slices.Min(p.goroutines[last:])).To(BeNumerically("<", slices.Max(p.goroutines[before:last])+someGoroutines), "goroutines that never end: %v", p.goroutines)
	Expect(slices.Min(p.heap[last:])).To(BeNumerically("<", 1.1*slices.Min(p.heap[before:last])+someHeap), "memory that is never given back: %v", p.heap)
}

// String returns the smallest values in each third.
func (p *processGrowth) String() string {
	var parts []string
	for third := range slices.Chunk(p.goroutines, len(p.goroutines)/3+1) {
		parts = append(parts, fmt.Sprintf("%.0f goroutines", slices.Min(third)))
	}
	for third := range slices.Chunk(p.heap, len(p.heap)/3+1) {
		parts = append(parts, fmt.Sprintf("%.0f MB", slices.Min(third)/1e6))
	}
	return strings.Join(parts, ", ")
}
