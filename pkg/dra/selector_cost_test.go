// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// TestSlowSelectorsWaitForTheirTurn covers long selectors and nested repetitions, which nothing interrupts. Only as many searches begin as the
// budget covers.
func TestSlowSelectorsWaitForTheirTurn(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat("1,", 30), ",")
	for _, expression := range []string{
		"[" + list + "].all(x, [" + list + "].all(y, x+y+%d > 0)) && device.driver == 'nobody'",
		strings.Repeat("1 == 1 && ", 500) + "%d < 0",
	} {
		allocator, _ := sizes("80 80").allocator(nil)
		budget, begun := NewBudget(BudgetOfSession), 0
		for i := range 100 {
			c := claim(where(exactly("r", "gpu", 1), fmt.Sprintf(expression, i)))
			node := budget.Of("q", fmt.Sprint("j", i)).Node()
			node.begin(2)
			if node.reserve() == nil {
				begun++
				continue // it continues while time is left
			}
			unfinished := new(UnfinishedError)
			_, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{c}, Quota{Accepts: atMost(nil)}, budget.Of("q", fmt.Sprint("j", i)).Node())
			if !errors.As(err, &unfinished) || !unfinished.Later {
				t.Errorf("search %d: %v, want that it goes on later", i, err)
			}
		}
		if begun != BudgetOfSession/leastForSlow {
			t.Errorf("%d searches begin at the same time", begun)
		}
	}
}

// TestCompilingIsCharged matters because compiling takes longer than most searches, and the cache is small, so each node may pay again.
func TestCompilingIsCharged(t *testing.T) {
	long := func(i int) string { return strings.Repeat("1 == 2 || ", 380) + fmt.Sprint(i, " < 0") }
	selecting := func(expressions ...string) []*resourceapi.ResourceClaim {
		return []*resourceapi.ResourceClaim{claim(where(exactly("r", "gpu", 1), expressions...))}
	}
	var many []string
	for i := range 2 * compiledLately {
		many = append(many, fmt.Sprint(i, " >= 0"))
	}
	for _, c := range []struct {
		name   string
		claims func(i int) []*resourceapi.ResourceClaim
		// most is the number of searches, of a hundred, that end before the budget is spent.
		most int
	}{
		{"one short selector", func(int) []*resourceapi.ResourceClaim { return selecting("device.driver == 'nobody'") }, 100},
		{"short selectors", func(i int) []*resourceapi.ResourceClaim {
			return selecting(fmt.Sprintf("device.driver == 'nobody-%d'", i))
		}, 100},
		{"the same long selector", func(int) []*resourceapi.ResourceClaim { return selecting(long(1)) }, 100},
		{"long selectors", func(i int) []*resourceapi.ResourceClaim { return selecting(long(i)) }, BudgetOfSession / (effortOfLetter*3800 - effortOfCompiling)},
		{"as many selectors as are forgotten", func(int) []*resourceapi.ResourceClaim { return selecting(many...) }, BudgetOfSession / (effortOfSelector * compiledLately)},
	} {
		t.Run(c.name, func(t *testing.T) {
			allocator, _ := sizes("80 80").allocator(nil)
			budget, ended := NewBudget(BudgetOfSession), 0
			for i := range 100 {
				_, err := allocator.Pick(t.Context(), onNode("n1"), c.claims(i), Quota{Accepts: atMost(nil)}, budget.Of("q", fmt.Sprint("j", i)).Node())
				if unfinished := new(UnfinishedError); err == nil {
					ended++
				} else if !errors.As(err, &unfinished) || !unfinished.Later {
					t.Fatal(err)
				}
			}
			if ended > c.most || c.most == 100 && ended < 100 {
				t.Errorf("%d searches have ended, want %d at most", ended, c.most)
			}
			if _, spent := budget.Used(); c.most == 100 && spent > 100*effortOfCompiling {
				t.Errorf("%d units are spent", spent)
			}
		})
	}
}

// TestLongSelectorsCostMoreForEachDevice covers selectors without calls, which take time in proportion to their length.
func TestLongSelectorsCostMoreForEachDevice(t *testing.T) {
	used := func(expression string) int {
		allocator, _ := sizes(strings.Repeat("80 ", 10)).allocator(nil)
		claims := []*resourceapi.ResourceClaim{claim(where(exactly("r", "gpu", 1), expression))}
		cost := allocator.catalog.selectors.costOf(claims)
		allocator.catalog.selectors.compile(&cost, claims)
		node := alone().Node()
		if err := allocator.catalog.selectors.pay(&cost, node); err != nil { // it is already compiled
			t.Fatal(err)
		}
		node.used = 0
		if _, err := allocator.Pick(t.Context(), onNode("n1"), claims, Quota{Accepts: atMost(nil)}, node); err != nil {
			t.Fatal(err)
		}
		return node.Used()
	}
	short, long := used("1 == 2"), used(strings.Repeat("1 == 2 || ", 299)+"1 == 2")
	if long < short+10*2900/lengthOfUnit {
		t.Errorf("a search costs %d with a long selector, and %d with a short one", long, short)
	}
}

// asking is an algorithm that evaluates selectors forever.
type asking struct{}

func (asking) Allocate(ctx context.Context, _ *corev1.Node, _ []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	for {
		<-time.After(time.Millisecond)
		_ = ctx.Done()
	}
}

// TestSelectorsEndWhenTheTimeIsUp covers thousands of selectors between two steps.
func TestSelectorsEndWhenTheTimeIsUp(t *testing.T) {
	effort := NewBudget(1000).Of("q", "j").Node()
	effort.begin(1)
	p := picking{ctx: t.Context(), effort: effort, timed: true, node: onNode("n1")}
	if _, err := p.allocate(asking{}, nil); !errors.Is(err, errTooMuch) {
		t.Error(err)
	}
	if effort.Had() == 0 {
		t.Error("it is not noted that the search has not ended")
	}
}

// TestTimeCountsBesideTheAlgorithm covers selectors evaluated before the algorithm runs, and after the quota refuses its result.
func TestTimeCountsBesideTheAlgorithm(t *testing.T) {
	selectors := selectors("[1].all(x, x > 0)")
	a, _ := sizes("80 80").allocator(nil)
	late := func() *stopwatch {
		effort := NewBudget(1000).Of("q", "j").Node()
		effort.begin(1)
		watch := newStopwatch(effort, true)
		watch.begun = watch.begun.Add(-time.Second)
		return &watch
	}
	slices := a.catalog.slicesFor("n1")
	if _, err := newFreeDevices(a, slices).matches(t.Context(), "gpu", selectors, late()); !errors.Is(err, errTooMuch) {
		t.Errorf("other devices: %v", err)
	}
	free, known := a.free(slices)
	if _, _, err := a.suitable(t.Context(), free, &want{1, []alternative{newAlternative("gpu", selectors)}}, late()); !known || len(free) == 0 || !errors.Is(err, errTooMuch) {
		t.Errorf("a shortage: %v", err)
	}
}
