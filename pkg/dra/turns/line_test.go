// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"fmt"
	"slices"
	"testing"
)

func TestQueuesComeInTurns(t *testing.T) {
	var line Line
	for i := range 4 {
		line.Join("many", fmt.Sprint("m", i))
	}
	line.Join("few", "f0")
	line.Join("few", "f1")
	line.Join("many", "m0") // it already waits
	var got []string
	for line.Len() > 0 {
		got = append(got, line.Take(2)...)
	}
	if want := []string{"m0", "f0", "m1", "f1", "m2", "m3"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	line.Join("many", "m0")
	line.Join("few", "f0")
	if got := line.Take(1); !slices.Equal(got, []string{"f0"}) {
		t.Errorf("%v is next, want the queue whose turn was longest ago", got)
	}
}

func TestWhoIsGoneDoesNotWait(t *testing.T) {
	var line Line
	for _, name := range []string{"a", "b", "c"} {
		line.Join("q", name)
	}
	line.Keep(func(name string) bool { return name != "a" })
	line.Join("q", "a")
	if got, want := line.Take(9), []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}
