// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"slices"
	"sync"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// widest returns the maximum number of clusters, other than besides, that Karmada's scheduler may choose. Field selectors, taints, and
// free capacity can only reduce the number. If there are several affinities, Karmada follows one of them.
func widest(placement *policyv1alpha1.Placement, clusters []*clusterv1alpha1.Cluster, besides []string) int {
	if placement == nil {
		return 0
	}
	most := 0
	affinities := affinitiesOf(placement)
	if long(affinities) {
		affinities = []*policyv1alpha1.ClusterAffinity{nil}
	}
	for _, affinity := range affinities {
		matches, count := matcher(affinity), 0
		for _, c := range clusters {
			if matches(c) && !slices.Contains(besides, c.Name) {
				count++
			}
		}
		most = max(most, count)
	}
	if limit, limited := limitOf(placement); limited {
		most = min(most, limit)
	}
	return most
}

// affinitiesOf returns the affinities of a placement. Karmada follows one of them.
func affinitiesOf(placement *policyv1alpha1.Placement) []*policyv1alpha1.ClusterAffinity {
	if len(placement.ClusterAffinities) == 0 {
		return []*policyv1alpha1.ClusterAffinity{placement.ClusterAffinity}
	}
	var affinities []*policyv1alpha1.ClusterAffinity
	for i := range placement.ClusterAffinities {
		affinities = append(affinities, &placement.ClusterAffinities[i].ClusterAffinity)
	}
	return affinities
}

// admits returns a function that reports whether some affinity of a placement admits a cluster.
func admits(placement *policyv1alpha1.Placement) func(*clusterv1alpha1.Cluster) bool {
	matchers := sync.OnceValue(func() (all []func(*clusterv1alpha1.Cluster) bool) {
		for _, affinity := range affinitiesOf(placement) {
			all = append(all, matcher(affinity))
		}
		return all
	})
	return func(c *clusterv1alpha1.Cluster) bool {
		return slices.ContainsFunc(matchers(), func(matches func(*clusterv1alpha1.Cluster) bool) bool { return matches(c) })
	}
}

// maxTerms is the number of terms in the affinities of a placement above which each cluster counts as one that Karmada may choose. A policy has room
// for tens of thousands of terms, each of its bindings has a copy, and each of these is counted anew whenever a cluster comes or goes.
const maxTerms = 1000

// long reports whether affinities have more than maxTerms terms.
func long(affinities []*policyv1alpha1.ClusterAffinity) bool {
	terms := 0
	for _, affinity := range affinities {
		if terms++; affinity != nil {
			terms += len(affinity.ClusterNames) + len(affinity.ExcludeClusters)
			if selector := affinity.LabelSelector; selector != nil {
				terms += len(selector.MatchLabels)
				for i := range selector.MatchExpressions {
					terms += 1 + len(selector.MatchExpressions[i].Values)
				}
			}
		}
		if terms > maxTerms {
			return true
		}
	}
	return false
}

// matcher returns a function that reports whether an affinity admits a cluster. Nil admits all. An invalid selector admits none, as in Karmada.
func matcher(affinity *policyv1alpha1.ClusterAffinity) func(*clusterv1alpha1.Cluster) bool {
	if affinity == nil {
		return func(*clusterv1alpha1.Cluster) bool { return true }
	}
	selector := labels.Everything()
	if affinity.LabelSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(affinity.LabelSelector); err != nil {
			selector = labels.Nothing()
		}
	}
	return func(c *clusterv1alpha1.Cluster) bool {
		return !slices.Contains(affinity.ExcludeClusters, c.Name) && selector.Matches(labels.Set(c.Labels)) &&
			(len(affinity.ClusterNames) == 0 || slices.Contains(affinity.ClusterNames, c.Name))
	}
}

// limitOf returns how many clusters the spread constraints allow, false if they set no limit. Karmada ignores the constraints if it divides replicas
// by static weights, even if there is nothing to divide. If regions are constrained, it chooses at least one cluster in each of them.
func limitOf(placement *policyv1alpha1.Placement) (int, bool) {
	if staticWeights(placement.ReplicaScheduling) {
		return 0, false
	}
	limits := map[policyv1alpha1.SpreadFieldValue]int{}
	for _, c := range placement.SpreadConstraints {
		field := c.SpreadByField
		if field == "" && c.SpreadByLabel == "" {
			field = policyv1alpha1.SpreadByFieldCluster
		}
		limits[field] = c.MaxGroups
	}
	inClusters := limits[policyv1alpha1.SpreadByFieldCluster]
	inRegions, regions := limits[policyv1alpha1.SpreadByFieldRegion]
	if inClusters <= 0 || regions && inRegions <= 0 {
		return 0, false
	}
	return max(inClusters, inRegions), true
}

func staticWeights(strategy *policyv1alpha1.ReplicaSchedulingStrategy) bool {
	if strategy == nil || strategy.ReplicaSchedulingType != policyv1alpha1.ReplicaSchedulingTypeDivided ||
		strategy.ReplicaDivisionPreference != policyv1alpha1.ReplicaDivisionPreferenceWeighted {
		return false
	}
	weights := strategy.WeightPreference
	return weights == nil || len(weights.StaticWeightList) > 0 && weights.DynamicWeight == ""
}
