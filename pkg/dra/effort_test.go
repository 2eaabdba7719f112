// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// puzzle returns a claim for eight devices with the same attribute, and a node with seven devices of each kind. Only a search shows that
// they are too few.
func puzzle() ([]*resourceapi.ResourceClaim, *Allocator) {
	allocator, _ := sizes(strings.Repeat("80@0 ", 7) + strings.Repeat("80@1 ", 7)).allocator(nil)
	return []*resourceapi.ResourceClaim{matching(claim(exactly("r", "gpu", 8)), "numa")}, allocator
}

// TestTheStepsOfASearchAreCounted makes Kubernetes' algorithm go back and forth among equal devices.
func TestTheStepsOfASearchAreCounted(t *testing.T) {
	claims, allocator := puzzle()
	var used []int
	for range 2 {
		ctx, effort := &counting{Context: t.Context()}, alone().Node()
		results, err := allocator.Pick(ctx, onNode("n1"), claims, Quota{Accepts: atMost(nil)}, effort)
		if results != nil || err == nil && effort.Used() < ctx.steps-20 {
			t.Errorf("got %v, %v; used %d for %d steps", results, err, effort.Used(), ctx.steps)
		}
		if effort.Used() > effortOfNode+14*effortOfDevice+budgetOfJob {
			t.Errorf("used %d", effort.Used())
		}
		used = append(used, effort.Used())
	}
	if used[0] < 10_000 || used[0] != used[1] {
		t.Errorf("used %v, want the same twice, and many", used)
	}
}

// TestALongSearchTakesNothingFromOtherNodes covers nodes that are searched concurrently.
func TestALongSearchTakesNothingFromOtherNodes(t *testing.T) {
	effort := alone()
	long, short := effort.Node(), effort.Node()
	long.begin(0)
	short.begin(0)
	for long.spend(1) == nil {
	}
	if err := short.spend(effortOfNode); err != nil {
		t.Errorf("a node that was looked at after a long search began: %v", err)
	}
	if err := short.spend(1); err == nil {
		t.Error("the bound does not hold")
	}
}

// exhausted returns the effort of a job that has spent all it can on a node.
func exhausted(budget *Budget, queue, job string) *NodeEffort {
	n := budget.Of(queue, job).Node()
	n.begin(0)
	for n.spend(100) == nil {
	}
	return n
}

// TestALongSearchOfOneJobLeavesSomeToOthers also checks that a search of ordinary length stays free after many jobs have spent everything.
func TestALongSearchOfOneJobLeavesSomeToOthers(t *testing.T) {
	budget := NewBudget(BudgetOfSession)
	sum := 0
	for i := range 200 {
		n := exhausted(budget, "q", fmt.Sprint("j", i))
		if n.Used() > effortOfNode+budgetOfJob {
			t.Errorf("job %d used %d", i, n.Used())
		}
		sum += max(0, n.Used()-effortOfNode)
		n.end()
	}
	if sum > BudgetOfSession || sum < BudgetOfSession-200*100 {
		t.Errorf("%d were spent, want %d", sum, BudgetOfSession)
	}
	claims := []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 8))}
	allocator, _ := sizes(strings.Repeat("80 ", 8)).allocator(nil)
	if results, err := allocator.Pick(t.Context(), onNode("n1"), claims, Quota{Accepts: atMost(nil)}, budget.Of("q", "honest").Node()); results == nil || err != nil {
		t.Errorf("an ordinary pod behind them gets %v, %v", results, err)
	}
}

// TestWhatTooLittleIsLeftForGetsItsTurn checks that each session keeps the maximum cost of a search for the jobs with the longest wait.
func TestWhatTooLittleIsLeftForGetsItsTurn(t *testing.T) {
	const jobs = 30
	budget, had := NewBudget(BudgetOfSession), map[int]int{}
	for range jobs {
		for i := range jobs { // the order is always the same
			n := exhausted(budget, "q", fmt.Sprint("j", i))
			if n.Used() > budgetOfJob-100 {
				had[i]++
			}
			n.job.Want(effortOfNode)
			n.end()
		}
		budget = budget.Next()
	}
	for i := range jobs {
		if had[i] == 0 {
			t.Errorf("job %d had no turn: %v", i, had)
			break
		}
	}
}

// TestAQueueWithManyJobsLeavesTurnsToOthers uses a queue whose jobs come first in each session.
func TestAQueueWithManyJobsLeavesTurnsToOthers(t *testing.T) {
	budget := NewBudget(BudgetOfSession)
	spends := func(queue, job string) int {
		n := exhausted(budget, queue, job)
		n.job.Want(effortOfNode)
		n.end()
		return n.Used()
	}
	for session := range 30 {
		for i := range 200 {
			spends("many", fmt.Sprint("j", i))
		}
		if session > 10 && spends("one", "honest") > budgetOfJob-100 {
			if session > 12 {
				t.Errorf("the job of the other queue has its turn in session %d", session)
			}
			return
		}
		budget = budget.Next()
	}
	t.Error("the job of the other queue has no turn")
}

func TestWhoWantsNoMoreKeepsNothingFromOthers(t *testing.T) {
	budget := NewBudget(BudgetOfSession)
	for i := range 3 {
		budget.Of("q", fmt.Sprint("j", i)).Want(1)
	}
	budget = budget.Next()
	if budget.left != BudgetOfSession-kept {
		t.Errorf("%d are left for others, want %d", budget.left, BudgetOfSession-kept)
	}
	if budget = budget.Next(); budget.left != BudgetOfSession || budget.waiting.Len() != 0 {
		t.Errorf("%d are left for others, and %d wait", budget.left, budget.waiting.Len())
	}
}

func TestASearchThatTooLittleIsLeftForIsNotAnAnswerOfNo(t *testing.T) {
	claims, allocator := puzzle()
	effort := NewBudget(3000).Of("q", "j")
	for i := range 2 {
		node := effort.Node()
		_, err := allocator.Pick(t.Context(), onNode("n1"), claims, Quota{Accepts: atMost(nil)}, node)
		unfinished := new(UnfinishedError)
		if !errors.As(err, &unfinished) || unfinished.Requests != 1 || !unfinished.Later {
			t.Errorf("the error is %v", err)
		}
		if most := []int{3000 + effortOfNode + 14*effortOfDevice, 0}[i]; node.Used() > most || node.Had() == 0 {
			t.Errorf("search %d used %d, want at most %d; had %d", i, node.Used(), most, node.Had())
		}
	}
	effort = alone()
	_, err := allocator.Pick(t.Context(), onNode("n1"), claims, Quota{Accepts: atMost(nil)}, effort.Node())
	if unfinished := new(UnfinishedError); errors.As(err, &unfinished) && unfinished.Later {
		t.Errorf("no search gets more: %v", err)
	}
}

// TestASearchThatEndsEarlyKnowsWhatItHad lets callers tell whether a search would now get further.
func TestASearchThatEndsEarlyKnowsWhatItHad(t *testing.T) {
	effort := alone()
	fresh := effort.Available()
	alone := effort.Node()
	alone.begin(0)
	if alone.spend(fresh-1) != nil || alone.Had() != 0 {
		t.Errorf("it had %d before it needed more", alone.Had())
	}
	if alone.spend(2) == nil || alone.Had() != fresh || alone.Used() != fresh-1 {
		t.Errorf("it had %d and used %d, want %d and %d", alone.Had(), alone.Used(), fresh, fresh-1)
	}
	alone.end()
	if effort.Available() != 1 {
		t.Errorf("%d are left, want what was not needed", effort.Available())
	}
	late := effort.Node()
	late.begin(0)
	if late.spend(2) == nil || late.Had() != 1 || late.Used() != 0 {
		t.Errorf("another node had %d and used %d, want 1 and 0", late.Had(), late.Used())
	}
}

// TestSelectorsThatTakeLongCostTheirTime uses selectors that take no steps.
func TestSelectorsThatTakeLongCostTheirTime(t *testing.T) {
	slow := where(exactly("r", "gpu", 1),
		`[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, a+b+c+d >= 0)))) && false`)
	allocator, _ := sizes(strings.Repeat("80 ", 30)).allocator(nil)
	node := NewBudget(2000).Of("q", "j").Node()
	results, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(slow)}, Quota{Accepts: atMost(nil)}, node)
	if unfinished := new(UnfinishedError); results != nil || !errors.As(err, &unfinished) {
		t.Errorf("got %v, %v, used %d", results, err, node.Used())
	}
}

// TestEachTryPaysForItsSelectors has a quota that refuses the first five choices. The first search also fills what is remembered of the node.
func TestEachTryPaysForItsSelectors(t *testing.T) {
	for _, devices := range []int{8, 512} {
		allocator, catalog := sizes(strings.Repeat("80 70 60 50 ", devices/4)).allocator(nil)
		claims := []*resourceapi.ResourceClaim{claim(exactly("r", "gpu", 4))}
		for _, first := range []bool{true, false} {
			ctx, effort := &counting{Context: t.Context()}, alone().Node()
			results, err := allocator.Pick(ctx, onNode("n1"), claims, refusing(catalog, 5), effort)
			if results == nil || err != nil || ctx.evaluated < devices || !first && effort.Used() < 3*ctx.evaluated {
				t.Errorf("%d devices: got %d results, %v; used %d for %d evaluations", devices, len(results), err, effort.Used(), ctx.evaluated)
			}
		}
	}
}

// TestClaimsWithoutRequestsCost: Kubernetes' algorithm looks at them, too.
func TestClaimsWithoutRequestsCost(t *testing.T) {
	if few, many := effortOf([]*resourceapi.ResourceClaim{claim()}, 8), effortOf(slices.Repeat([]*resourceapi.ResourceClaim{claim()}, 500), 8); many < few+500 {
		t.Errorf("500 cost %d, and one costs %d", many, few)
	}
}
