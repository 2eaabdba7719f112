// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
)

func TestWhyReclaimersWait(t *testing.T) {
	const held = "Queue <q> deserves <4> of <nvidia-h100>, holds <1>, and asks for <2> more, but cannot take it back: "
	short := CannotReclaim{Queue: "q", Dimension: h100, Deserved: ledger.Units(4), Held: ledger.Units(1), Asked: ledger.Units(2)}
	because := func(o ReclaimObstacle) CannotReclaim {
		c := short
		c.Obstacle = o
		return c
	}
	protected := because(Protected)
	protected.Gangs, protected.Budgets = 3, 1
	inBytes := CannotReclaim{Queue: "q", Dimension: memory, Deserved: gib(64), Held: gib(1), Asked: gib(32)}
	for _, c := range []struct {
		refusal         Refusal
		reason, message string
	}{
		{WaitsForVictims{"n1", []string{"ns/a"}}, "", "Waits on node <n1> for 1 pod to leave: ns/a"},
		{WaitsForVictims{"n1", []string{"ns/b", "ns/a"}}, "", "Waits on node <n1> for 2 pods to leave: ns/a, ns/b"},
		{WaitsForVictims{"n1", []string{"a", "b", "c", "d", "e", "f", "g"}}, "", "Waits on node <n1> for 7 pods to leave: a, b, c, d, e, and 2 more"},
		{because(NobodyHoldsMore), "CannotReclaim", held + "no other queue holds more than it deserves: lower what queues deserve, or add nodes"},
		{
			because(NotReclaimable), "CannotReclaim",
			held + "nothing may be taken from those who hold more than they deserve: see spec.reclaimable of their queues, and the annotation volcano.sh/preemptable of their pods",
		},
		{because(NoNodeWithVictims), "CannotReclaim", held + "no node has what the pods ask for, even without the pods that may be evicted"},
		{
			protected, "CannotReclaim",
			held + "the pods of those who hold more than they deserve are protected: <3> by the minimum of their jobs, <1> by PodDisruptionBudgets",
		},
		{
			inBytes, "CannotReclaim",
			"Queue <q> deserves <64GiB> of <memory>, holds <1GiB>, and asks for <32GiB> more, but cannot take it back: no other queue holds more than it deserves: lower what queues deserve, or add nodes",
		},
	} {
		if got := c.refusal.Message(); got != c.message {
			t.Errorf("%T says\n%s, want\n%s", c.refusal, got, c.message)
		}
		if got := c.refusal.Reason(); got != c.reason {
			t.Errorf("%T has the reason %q, want %q: %s", c.refusal, got, c.reason, c.message)
		}
	}
}

func TestOnlyTheFirstDimensionThatCannotBeReclaimedIsReported(t *testing.T) {
	found := problems.Problems{}
	tell := func(c CannotReclaim) { found.CannotReclaim(c.Queue, c.Message()) }
	first := CannotReclaim{Queue: "q", Dimension: h100, Deserved: ledger.Units(4)}
	tell(first)
	tell(CannotReclaim{Queue: "q", Dimension: memory, Deserved: gib(4)})
	tell(CannotReclaim{Queue: "other", Dimension: memory, Deserved: gib(4)})
	if got := found[problems.Problem{Queue: "q", Reason: problems.CannotReclaimReason}]; got != first.Message() || len(found) != 2 {
		t.Errorf("%d problems, that of q is %q", len(found), got)
	}
}
