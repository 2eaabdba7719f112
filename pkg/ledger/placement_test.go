// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"
	"testing"
)

func TestMisplaced(t *testing.T) {
	for _, c := range []struct {
		name  string
		specs []QueueSpec
		want  []SetAside
	}{
		{
			name:  "children before parents",
			specs: []QueueSpec{spec("team", "ml", -1), spec("ml", "root", -1), spec("root", "", -1)},
		},
		{
			name:  "a missing parent sets its descendants aside and no other queue",
			specs: []QueueSpec{spec("root", "", -1), spec("lost", "gone", -1), spec("below", "lost", -1), spec("fine", "root", -1)},
			want: []SetAside{
				{"lost", "its parent gone does not exist: create that queue or change spec.parent"},
				{"below", "its ancestor lost cannot be used"},
			},
		},
		{
			name:  "a missing parent is found from below, too",
			specs: []QueueSpec{spec("below", "lost", -1), spec("lost", "gone", -1)},
			want: []SetAside{
				{"below", "its ancestor lost cannot be used"},
				{"lost", "its parent gone does not exist: create that queue or change spec.parent"},
			},
		},
		{
			name:  "its own parent",
			specs: []QueueSpec{spec("self", "self", -1)},
			want:  []SetAside{{"self", "it is its own ancestor (self > self): change spec.parent of one of them"}},
		},
		{
			name:  "a cycle of three and a queue below it",
			specs: []QueueSpec{spec("tail", "a", -1), spec("a", "b", -1), spec("b", "c", -1), spec("c", "a", -1)},
			want: []SetAside{
				{"tail", "its ancestor a cannot be used"},
				{"a", "it is its own ancestor (a > b > c > a): change spec.parent of one of them"},
				{"b", "it is its own ancestor (a > b > c > a): change spec.parent of one of them"},
				{"c", "it is its own ancestor (a > b > c > a): change spec.parent of one of them"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Misplaced(c.specs); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
			l, _ := New(&Dimensions{}, nil, c.specs)
			if got, want := len(l.queues), len(c.specs)-len(c.want); got != want {
				t.Errorf("the ledger has %d queues, want %d", got, want)
			}
		})
	}
}

func TestDeepChainNeedsNoRecursion(t *testing.T) {
	specs := []QueueSpec{spec("0", "", -1)}
	for i := 1; i < 100_000; i++ {
		specs = append(specs, spec(fmt.Sprint(i), fmt.Sprint(i-1), -1))
	}
	slices.Reverse(specs)
	l, aside := New(&Dimensions{}, nil, specs)
	if len(aside) > 0 {
		t.Fatalf("set aside: %v", aside[0])
	}
	leaf, _ := l.Queue("99999")
	if path := l.Path(leaf); len(path) != 100_000 || path[99_999] != "0" {
		t.Fatalf("the path has %d queues", len(path))
	}
}
