// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// selectors are the label selectors of placements, compiled. A selector that no session asks for any more is dropped.
type selectors struct {
	now, before map[*metav1.LabelSelector]labels.Selector
}

// turn begins a session.
func (s *selectors) turn() {
	s.now, s.before = map[*metav1.LabelSelector]labels.Selector{}, s.now
}

func (s *selectors) of(selector *metav1.LabelSelector) labels.Selector {
	if compiled, known := s.now[selector]; known {
		return compiled
	}
	compiled, known := s.before[selector]
	if !known {
		var err error
		if compiled, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			compiled = labels.Nothing()
		}
	}
	s.now[selector] = compiled
	return compiled
}

// allows reports whether the affinity of a placement admits a cluster. Karmada's scheduler tries the groups of
// clusterAffinities one after the other, so any of them will do.
func (s *selectors) allows(placement *policyv1alpha1.Placement, cluster *clusterv1alpha1.Cluster) bool {
	switch {
	case placement == nil:
		return true
	case placement.ClusterAffinity != nil:
		return s.matches(placement.ClusterAffinity, cluster)
	case len(placement.ClusterAffinities) == 0:
		return true
	}
	for i := range placement.ClusterAffinities {
		if s.matches(&placement.ClusterAffinities[i].ClusterAffinity, cluster) {
			return true
		}
	}
	return false
}

func (s *selectors) matches(affinity *policyv1alpha1.ClusterAffinity, cluster *clusterv1alpha1.Cluster) bool {
	if slices.Contains(affinity.ExcludeClusters, cluster.Name) || len(affinity.ClusterNames) > 0 && !slices.Contains(affinity.ClusterNames, cluster.Name) {
		return false
	}
	if affinity.LabelSelector != nil && !s.of(affinity.LabelSelector).Matches(labels.Set(cluster.Labels)) {
		return false
	}
	if affinity.FieldSelector != nil {
		for i := range affinity.FieldSelector.MatchExpressions {
			if !matchesField(&affinity.FieldSelector.MatchExpressions[i], cluster) {
				return false
			}
		}
	}
	return true
}

// matchesField follows Karmada: provider and region are compared like labels. All zones of a cluster must be among
// those that are asked for.
func matchesField(want *corev1.NodeSelectorRequirement, cluster *clusterv1alpha1.Cluster) bool {
	var operator selection.Operator
	switch want.Operator {
	case corev1.NodeSelectorOpIn:
		operator = selection.In
	case corev1.NodeSelectorOpNotIn:
		operator = selection.NotIn
	case corev1.NodeSelectorOpExists:
		operator = selection.Exists
	case corev1.NodeSelectorOpDoesNotExist:
		operator = selection.DoesNotExist
	default:
		return false
	}
	if want.Key == zoneField {
		return matchesZones(operator, want.Values, cluster.Spec.Zones)
	}
	requirement, err := labels.NewRequirement(want.Key, operator, want.Values)
	fields := labels.Set{}
	for name, value := range map[string]string{providerField: cluster.Spec.Provider, regionField: cluster.Spec.Region} {
		if value != "" {
			fields[name] = value
		}
	}
	return err == nil && requirement.Matches(fields)
}

// The fields of clusters that placements may name.
const providerField, regionField, zoneField = "provider", "region", "zone"

func matchesZones(operator selection.Operator, wanted, zones []string) bool {
	listed := func(zone string) bool { return slices.Contains(wanted, zone) }
	switch operator {
	case selection.In:
		return len(zones) > 0 && !slices.ContainsFunc(zones, func(zone string) bool { return !listed(zone) })
	case selection.NotIn:
		return !slices.ContainsFunc(zones, listed)
	case selection.Exists:
		return len(zones) > 0
	default:
		return len(zones) == 0
	}
}
