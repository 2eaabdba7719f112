// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// WaitsForVictims refuses a pod that starts after the pods evicted for it have left their node.
type WaitsForVictims struct {
	Node string
	// Pods are the pods that have not left yet, as namespace/name.
	Pods []string
}

// Reason implements Refusal. The pods leave by themselves.
func (WaitsForVictims) Reason() string { return "" }

// Message implements Refusal.
func (w WaitsForVictims) Message() string {
	pods := "pods"
	if len(w.Pods) == 1 {
		pods = "pod"
	}
	return fmt.Sprintf("Waits on node <%s> for %d %s to leave: %s", w.Node, len(w.Pods), pods, refusals.List(slices.Sorted(slices.Values(w.Pods))))
}

// ReclaimObstacle is the reason why a queue cannot take back what it deserves.
type ReclaimObstacle uint8

const (
	// NobodyHoldsMore says that no other queue holds more than it deserves.
	NobodyHoldsMore ReclaimObstacle = iota
	// NotReclaimable says that queues or pods are marked so that nothing is taken from them.
	NotReclaimable
	// Protected says that the pods which could be evicted are protected.
	Protected
	// NoNodeWithVictims says that evictions would not help, because no node has what the pod asks for.
	NoNodeWithVictims
)

// CannotReclaim says that a queue does not get what it deserves.
type CannotReclaim struct {
	Queue     string
	Dimension ledger.Dimension
	// Asked is the request of the queue beyond what it holds.
	Deserved, Held, Asked ledger.Amount
	Obstacle              ReclaimObstacle
	// Gangs and Budgets count the pods that are protected by the minimum of their jobs and by PodDisruptionBudgets. They are used
	// only if the obstacle is Protected.
	Gangs, Budgets int
}

// Reason implements Refusal.
func (CannotReclaim) Reason() string { return problems.CannotReclaimReason }

// Message implements Refusal.
func (c CannotReclaim) Message() string {
	format := c.Dimension.Format
	return fmt.Sprintf("Queue <%s> deserves <%s> of <%s>, holds <%s>, and asks for <%s> more, but cannot take it back: %s",
		c.Queue, format(c.Deserved), c.Dimension, format(c.Held), format(c.Asked), c.obstacle())
}

func (c CannotReclaim) obstacle() string {
	switch c.Obstacle {
	case NobodyHoldsMore:
		return "no other queue holds more than it deserves: lower what queues deserve, or add nodes"
	case NotReclaimable:
		return "nothing may be taken from those who hold more than they deserve: see spec.reclaimable of their queues, and the annotation volcano.sh/preemptable of their pods"
	case NoNodeWithVictims:
		return "no node has what the pods ask for, even without the pods that may be evicted"
	default:
		return "the pods of those who hold more than they deserve are protected: " + c.protection()
	}
}

func (c CannotReclaim) protection() string {
	var parts []string
	for _, by := range []struct {
		pods int
		what string
	}{{c.Gangs, "by the minimum of their jobs"}, {c.Budgets, "by PodDisruptionBudgets"}} {
		if by.pods > 0 {
			parts = append(parts, fmt.Sprintf("<%d> %s", by.pods, by.what))
		}
	}
	return strings.Join(parts, ", ")
}
