// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"math"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
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
	case !w.Spread.Divided && w.Template.Replicas() > 0 && int64(len(binding.Kept(w.Binding))) > grant.Copies:
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
