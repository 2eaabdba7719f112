// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

func TestDimensionsGoWithWhatTheyStandFor(t *testing.T) {
	f := newFixture(t).queue("team", "root")
	f.job("p", "team", "n1", requests)
	f.take()
	before := f.cache.Dimensions.Len()
	var many strings.Builder
	for i := range 2 * fewDimensions {
		fmt.Fprintf(&many, "example.com/r%d=1 ", i)
	}
	f.queue("many", "root", deserves(many.String()))
	sessions := func(when string) {
		for range reviewInterval + 1 {
			f.take().expectCharges(t, when, map[string]string{"team": "4 2 2", "root": "4 2 2"})
		}
	}
	sessions("while the queue is there")
	if n := f.cache.Dimensions.Len(); n != before+2*fewDimensions {
		t.Errorf("there are %d dimensions while a queue lists them, want %d", n, before+2*fewDimensions)
	}
	delete(f.input.Queues, "many")
	sessions("when the queue is gone")
	if n := f.cache.Dimensions.Len(); n != before {
		t.Errorf("there are %d dimensions, want %d", n, before)
	}
}
