// SPDX-License-Identifier: Apache-2.0

package checks

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// withNodes adds to a refusal of the quota what the largest node has, if that is too little for one of the pods that together request the refused
// amount. Otherwise, their owner would ask for a quota that does not help. Such pods are not
// refused for that: a node may be added for them. Of resources that devices serve, nodes say nothing.
func (s *Session) withNodes(refusal report.Refusal, pods int64) report.Refusal {
	exceeded, quota := refusal.(report.QuotaExceeded)
	if !quota || exceeded.Dimension.Kind != ledger.Resource {
		return refusal
	}
	name := corev1.ResourceName(exceeded.Dimension.Name)
	if _, devices := s.Snapshot.Catalog.Extended(name); devices {
		return refusal
	}
	largest := s.largest(name)
	if fits, err := largest.Times(max(pods, 1)); err == nil && exceeded.Requested.Cmp(fits) > 0 {
		exceeded.LargestNode = &largest
	}
	return exceeded
}

// largest returns the most that a node has of a resource.
func (s *Session) largest(name corev1.ResourceName) ledger.Amount {
	if known, found := s.largestNodes[name]; found {
		return known
	}
	var most demand.Values
	for _, node := range s.Nodes {
		switch has := node.Allocatable; name {
		case corev1.ResourceCPU:
			most.MilliCPU = max(most.MilliCPU, has.MilliCPU)
		case corev1.ResourceMemory:
			most.Memory = max(most.Memory, has.Memory)
		default:
			most.Scalars = map[corev1.ResourceName]float64{name: max(most.Scalars[name], has.ScalarResources[name])}
		}
	}
	var largest ledger.Amount
	if amounts, err := s.Snapshot.Resources.Amounts(most); err == nil && len(amounts) > 0 {
		largest = amounts[0].Amount
	}
	if s.largestNodes == nil {
		s.largestNodes = map[corev1.ResourceName]ledger.Amount{}
	}
	s.largestNodes[name] = largest
	return largest
}
