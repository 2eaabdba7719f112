// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Reasons of events on pods that run.
const (
	// ReclaimedReason says that a pod is evicted, because another queue takes back what it deserves.
	ReclaimedReason = "Reclaimed"
	// PreemptedReason says that a pod is evicted, because a pod of the same queue has a higher priority.
	PreemptedReason = "Preempted"
)

// Action is an action of the scheduler that evicts pods.
type Action string

// The actions that evict pods.
const (
	Reclaim Action = "reclaim"
	Preempt Action = "preempt"
)

var evictions = promauto.NewCounterVec(metric.QueueEvictions.CounterOpts(), metric.QueueEvictions.Labels)

var promiseDuration = promauto.NewHistogramVec(metric.EvictionPromiseDuration.HistogramOpts(), metric.EvictionPromiseDuration.Labels)

// Eviction is the reason why a pod is evicted.
type Eviction interface {
	// Reason returns the reason of the event on the pod.
	Reason() string
	// Message returns the sentence in the event.
	Message() string
	// labels returns the label values of the metric.
	labels() []string
}

// Reclaimed evicts a pod because another queue takes back what it deserves.
type Reclaimed struct {
	// Pod is the pod that starts, as namespace/name. Queue is its queue.
	Pod, Queue string
	// VictimQueue is the queue of the evicted pod.
	VictimQueue string
	// Dimension is what one queue takes back from the other.
	Dimension ledger.Dimension
	// Gains and Loses are the queues of the two pods, or their ancestors.
	Gains, Loses QueueShare
}

// QueueShare is what a queue holds and deserves in one dimension.
type QueueShare struct {
	Queue string
	Held  ledger.Amount
	// Deserved is not set if the queue deserves none of the dimension.
	Deserved ledger.Limit
}

func (s QueueShare) in(d ledger.Dimension) string {
	deserved := "nothing"
	if s.Deserved.Set {
		deserved = "<" + d.Format(s.Deserved.Amount) + ">"
	}
	return fmt.Sprintf("queue <%s> holds <%s> and deserves %s", s.Queue, d.Format(s.Held), deserved)
}

// Reason implements Eviction.
func (Reclaimed) Reason() string { return ReclaimedReason }

// Message implements Eviction.
func (r Reclaimed) Message() string {
	return fmt.Sprintf("Evicted so that pod %s of queue <%s> starts: of <%s>, %s, and %s",
		r.Pod, r.Queue, r.Dimension, r.Gains.in(r.Dimension), r.Loses.in(r.Dimension))
}

func (r Reclaimed) labels() []string { return []string{string(Reclaim), r.VictimQueue, r.Queue} }

// Preempted evicts a pod for a pod of higher priority in the same queue.
type Preempted struct {
	// Pod is the pod that starts, as namespace/name.
	Pod, Queue string
	// Job and VictimJob are the jobs of the two pods, as namespace/name. Priority and VictimPriority are the priorities of the jobs.
	Job, VictimJob           string
	Priority, VictimPriority int32
}

// Reason implements Eviction.
func (Preempted) Reason() string { return PreemptedReason }

// Message implements Eviction.
func (p Preempted) Message() string {
	return fmt.Sprintf("Evicted so that pod %s of the same queue <%s> starts: its job %s has priority <%d>, and job %s of the evicted pod has <%d>",
		p.Pod, p.Queue, p.Job, p.Priority, p.VictimJob, p.VictimPriority)
}

func (p Preempted) labels() []string { return []string{string(Preempt), p.Queue, p.Queue} }

// Evicted writes an event on an evicted pod, and counts it.
func (r *Reporter) Evicted(victim *corev1.Pod, eviction Eviction) {
	klog.V(3).InfoS("Pod is evicted", "pod", klog.KObj(victim), "reason", eviction.Message())
	r.Recorder.Event(victim, corev1.EventTypeNormal, eviction.Reason(), eviction.Message())
	evictions.WithLabelValues(eviction.labels()...).Inc()
}

// Started publishes how long a pod with evicted victims waited until it was bound. The time promised is when its first victim was evicted.
func (r *Reporter) Started(action Action, promised time.Time) {
	promiseDuration.WithLabelValues(string(action)).Observe(r.Clock.Since(promised).Seconds())
}

// deleteEvictions deletes the series of a queue that is gone.
func deleteEvictions(queue string) {
	evictions.DeletePartialMatch(prometheus.Labels{"queue": queue})
	evictions.DeletePartialMatch(prometheus.Labels{"for_queue": queue})
}

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
	// NoHyperNodeWithVictims says the same of the HyperNodes that may have all pods of a job.
	NoHyperNodeWithVictims
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
	case NoHyperNodeWithVictims:
		return "no HyperNode that the job may use has what all its pods ask for, even without the pods that may be evicted"
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

// ProtectedByGangs refuses a pod whose queue deserves the request, if gangs that cannot lose a pod hold it.
type ProtectedByGangs struct {
	Refusal
	// Pods is the number of gang pods that hold what the queue deserves.
	Pods int
}

// Message implements Refusal.
func (p ProtectedByGangs) Message() string {
	return fmt.Sprintf("%s The queue deserves them, but <%d> pods that have them belong to gangs that need all their pods: the argument reclaimGangs of the plugin allows to evict whole gangs.",
		p.Refusal.Message(), p.Pods)
}
