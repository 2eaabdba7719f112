// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// moves reports whether a workload that leaves some clusters is charged for a move: this one, or the next one.
func moves(w *framework.Workload, leaves int) bool {
	if len(w.Binding.Spec.Clusters) == 0 || w.State.Deleting {
		return false
	}
	return leaves > 0 || w.State.Grant.Moves && w.PlacementIsNew()
}

// givesUpMove ends the charge for the next move of a workload that also grows, when its queue has no room for both. It would keep that charge for as
// long as it waits. It reports whether it makes such a decision.
func (c *cycle) givesUpMove(w *framework.Workload) bool {
	if !w.MovesAgain() {
		return false
	}
	grant := *w.State.Grant
	grant.Moves = false
	c.grant(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
	return true
}

// shrinksFirst lets the clusters of a workload have its current template if it needs no more there and only its placement waits. When they have carried out
// one that needs less, the grant is lowered, and the placement may fit. It reports whether a workload is on this way.
func (c *cycle) shrinksFirst(w *framework.Workload) bool {
	if !w.Grows() || w.Template.Fallback || !w.State.Hold.Dispatching && !w.State.Hold.PlacementOnly {
		return false // in the last case, others suspend dispatching
	}
	hold, grant, most := w.State.Hold, w.State.Grant, mostReplicas(w)
	one, pod := needs.OneCopy(c.Dimensions, grant), needs.FromGrant(c.Dimensions, grant.Pod)
	more, fewer := w.Needs.Copy.Beyond(one, w.Needs.Pod.Beyond(pod, nil)), one.Beyond(w.Needs.Copy, nil)
	assigned := slices.ContainsFunc(w.Binding.Spec.Clusters, func(target workv1alpha2.TargetCluster) bool { return target.Replicas > most })
	switch {
	case len(more) > 0, c.forbidden(w):
		return false
	case w.Template.Shape() != grant.Shape, w.Needs.Claims != grant.Claims: // pods keep what they have
		return false
	case binding.PlacementForgotten(w.Binding) && (hold.Dispatching || differ(w)):
		c.letChooseAgain(w)
	case hold.Dispatching, assigned:
		c.grant(report.Decision{Workload: w}, binding.PatchPlacementOnly(w.Binding, *hold, most))
	case len(fewer) == 0:
		return c.formerPods(w) // its pods are replaced by smaller ones: see forgetsFormer
	case !w.Spread.Divided && int64(len(binding.Kept(w.Binding))) > grant.Copies:
		return false // its replicas were divided: each cluster has few, and all together have more than one copy
	case c.hasShrunk(w):
		amounts, err := w.Needs.Copy.Times(grant.Copies)
		if err != nil {
			return false
		}
		c.grant(report.Decision{Workload: w}, binding.PatchAmounts(w.Binding, c.shrunk(w, grant.Copies, amounts)))
	}
	return true
}

// endsFirst reports whether clusters are to end pods before the hold of a workload is lifted: those that Karmada's scheduler took from them before it was
// suspended. It divides all replicas anew a moment after the hold is lifted, and clusters would make pods beside those that end.
func (c *cycle) endsFirst(w *framework.Workload) bool {
	hold := w.State.Hold
	if !hold.Ends || hold.KeepScheduling || !w.Spread.Divided || w.Template.Fallback || w.Template.RetainsReplicas || !lacksReplicas(w) {
		return false
	}
	if hold.PlacementOnly {
		return !c.hasFewer(w)
	}
	return hold.Dispatching && slices.ContainsFunc(w.Binding.Spec.Clusters, func(target workv1alpha2.TargetCluster) bool {
		return !c.NotReady[target.Name] && givesUp(w, target.Name)
	})
}

// hasFewer reports whether clusters have no more pods of a workload than Karmada's scheduler has given them, and none of them ends. Clusters that cannot be
// reached, or are told nothing, get only what is right later. Others may report more for as long as they replace pods.
func (c *cycle) hasFewer(w *framework.Workload) bool {
	version := strconv.FormatInt(w.Template.Generation, 10)
	may, why, reports := remainder{about: "fewer " + version, living: true, pods: map[string]int64{}}, "", true
	for _, work := range w.Works {
		cluster := binding.ClusterOf(work)
		if c.NotReady[cluster] || ptr.Deref(work.Spec.SuspendDispatching, false) || !slices.Contains(binding.Kept(w.Binding), cluster) {
			continue
		}
		may.clusters, may.pods[cluster] = append(may.clusters, cluster), replicasIn(w, cluster)
		if told := outdated(w, work, version); told != "" {
			why, reports = told, false
		} else if reports && workload.Reported(binding.StatusIn(work)) > may.pods[cluster] {
			why = fmt.Sprintf("cluster %s has not reported that its pods are as few as they are to be", cluster)
		}
	}
	if why == "" {
		return c.settled(w, may)
	}
	since := c.memory.restsSince(w, "to have "+may.about, c.Now)
	latest, told := since.Add(workload.EndsWithin), since.Add(tellAfter)
	switch {
	case reports && !latest.After(c.Now):
		return true
	case told.After(c.Now):
		c.due(told)
	default:
		c.tellRemains(w, why, true, false)
	}
	if reports {
		c.due(latest)
	}
	return false
}

// lacksReplicas reports whether clusters are to have fewer replicas of a workload than it has.
func lacksReplicas(w *framework.Workload) bool {
	lacks := max(int64(w.Binding.Spec.Replicas), w.Template.Unsurged())
	for _, target := range w.Binding.Spec.Clusters {
		lacks -= int64(target.Replicas)
	}
	return len(w.Binding.Spec.Clusters) > 0 && lacks > 0
}

// raisesCopies charges a workload for what its clusters have, even without room, while only its placement waits: they may have got more than it was granted,
// such as what a claim gives that was replaced in the moment in which it was named. It reports whether it makes such a decision.
func (c *cycle) raisesCopies(w *framework.Workload) bool {
	before := w.State.Grant
	one := needs.OneCopy(c.Dimensions, before)
	if w.State.Hold.Hides() || len(w.Needs.Copy.Beyond(one, nil)) == 0 {
		return false
	}
	amounts, err := one.Max(w.Needs.Copy).Times(before.Copies)
	if err != nil {
		return false // so much is never granted
	}
	grant := c.raised(w)
	grant.Amounts, grant.Copies = needs.ToGrant(c.Dimensions, amounts.Max(needs.FromGrant(c.Dimensions, before.Amounts))), before.Copies
	c.raise(report.Exceeds(w, grant), binding.PatchRecord(w.Binding, grant))
	return true
}

// letChooseAgain lets Karmada's scheduler choose clusters for a workload that waits for further ones. The webhook keeps it to those that are granted.
func (c *cycle) letChooseAgain(w *framework.Workload) {
	c.grant(report.Decision{Workload: w}, binding.PatchGrant(w.Binding, w.State.Hold, c.unraised(w)))
}

// differ reports whether clusters are to have other replicas than the template says, because Karmada's scheduler has not chosen since it changed.
func differ(w *framework.Workload) bool {
	return slices.ContainsFunc(w.Binding.Spec.Clusters, func(target workv1alpha2.TargetCluster) bool {
		return !w.Spread.Divided && w.Binding.Spec.Replicas > 0 && target.Replicas != w.Binding.Spec.Replicas
	})
}

// lacksCopies reports whether a workload that waits for further clusters has fewer than its queue has granted, because it was evicted from some meanwhile.
// Karmada's scheduler may replace those.
func lacksCopies(w *framework.Workload) bool {
	return binding.PlacementForgotten(w.Binding) && int64(len(binding.Kept(w.Binding))) < w.State.Grant.Copies
}

// leftInReach returns the reachable clusters that a workload has left.
func (c *cycle) leftInReach(w *framework.Workload) []string {
	if len(w.Places) == len(w.Binding.Spec.Clusters) {
		return nil // both lists are the same
	}
	return slices.DeleteFunc(w.Left(), func(cluster string) bool { return c.NotReady[cluster] })
}

// forgetsLeft ends the charge for reachable clusters that a workload has left, when they have nothing of it any more. It reports
// whether the workload has such clusters to decide about.
func (c *cycle) forgetsLeft(w *framework.Workload) bool {
	left := c.leftInReach(w)
	works := slices.ContainsFunc(w.Works, func(work *workv1alpha1.Work) bool { return slices.Contains(left, binding.ClusterOf(work)) })
	if len(left) == 0 || works {
		return false
	}
	if c.settled(w, remainder{about: fmt.Sprint("left ", left), clusters: left}) {
		grant := *w.State.Grant
		grant.Clusters = slices.DeleteFunc(slices.Clone(w.Places), func(cluster string) bool { return slices.Contains(left, cluster) })
		grant.Moves = moves(w, len(w.Leaves())-len(left))
		c.end(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
	}
	return true
}

// evictsTooMuch reports whether reachable clusters evict more of a workload than it has, and tells so.
func (c *cycle) evictsTooMuch(w *framework.Workload) bool {
	from := slices.DeleteFunc(binding.Evicting(w.Binding), func(cluster string) bool { return c.NotReady[cluster] })
	if !binding.EvictsTooMuch(w.Binding, from, w.State.Grant.Copies) {
		return false
	}
	c.tellRemains(w, fmt.Sprintf("it is evicted from clusters %s, which have not let it go yet", strings.Join(from, ", ")), true, false)
	return true
}

// comesBack reports whether Karmada has chosen a cluster again that a workload has left, and that cannot be reached. It tells so.
func (c *cycle) comesBack(w *framework.Workload) bool {
	left := w.Left()
	if len(left) == 0 || !binding.PlacementForgotten(w.Binding) {
		return false
	}
	c.tellRemains(w, fmt.Sprintf("it has left clusters %s", strings.Join(left, ", ")), true, false)
	return true
}

// mostReplicas returns the most replicas that a cluster is to have of a workload whose replicas are not divided.
func mostReplicas(w *framework.Workload) int32 {
	if w.Spread.Divided || w.Binding.Spec.Replicas <= 0 {
		return math.MaxInt32
	}
	return w.Binding.Spec.Replicas
}
