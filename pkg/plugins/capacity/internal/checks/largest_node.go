// SPDX-License-Identifier: Apache-2.0

package checks

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// withNodes adds to a refusal of the quota what the largest node has, if that is too little for one of the pods that together request the refused
// amount. Otherwise, their owner would ask for a quota that does not help. Such pods are not refused for that: a node may be added for them. What
// DRA serves is not in the resources of nodes.
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
	if fits, err := largest.Times(max(pods, 1)); err == nil && largest.Sign() > 0 && exceeded.Requested.Cmp(fits) > 0 {
		exceeded.LargestNode = &largest
	}
	return exceeded
}

// largest returns the most that a node has of a resource. It is safe for concurrent use: Volcano simulates preemption on several nodes at once.
func (s *Session) largest(name corev1.ResourceName) ledger.Amount {
	if known, found := s.largestNodes.Load(name); found {
		return known.(ledger.Amount)
	}
	most := 0.0
	for _, node := range s.Nodes {
		most = max(most, node.Allocatable.Get(name))
	}
	var largest ledger.Amount
	if amounts, err := s.Snapshot.Resources.Amounts(valuesOf(name, most)); err == nil && len(amounts) > 0 {
		largest = amounts[0].Amount
	}
	s.largestNodes.Store(name, largest)
	return largest
}

func valuesOf(name corev1.ResourceName, value float64) demand.Values {
	switch name {
	case corev1.ResourceCPU:
		return demand.Values{MilliCPU: value}
	case corev1.ResourceMemory:
		return demand.Values{Memory: value}
	default:
		return demand.Values{Scalars: map[corev1.ResourceName]float64{name: value}}
	}
}
