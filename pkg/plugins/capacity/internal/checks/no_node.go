// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// withNodes adds to a refusal of the quota that no node would do for a pod anyway: none has the labels of one of the selectors, or the largest has too
// little for one of the pods that together request the refused amount. Otherwise, their owner would ask for a quota that does not help. Such
// pods are not refused for that: a node may be added for them.
func (s *Session) withNodes(refusal report.Refusal, pods int64, selectors iter.Seq[map[string]string]) report.Refusal {
	exceeded, quota := refusal.(report.QuotaExceeded)
	if !quota {
		return refusal
	}
	for selector := range selectors {
		if none := s.noneSelected(selector); none != "" && (exceeded.NoNode == "" || none < exceeded.NoNode) {
			exceeded.NoNode = none // the first one, so that a refusal stays the same
		}
	}
	exceeded.NoNode = cmp.Or(exceeded.NoNode, s.tooLarge(&exceeded, pods))
	return exceeded
}

// maxLabels is the maximum number of labels of a selector that a message may have. The pods of a job share the message.
const maxLabels = 8

// noneSelected says that no node has the labels that a pod selects. It is empty if some have. It is safe for concurrent use: Volcano simulates
// preemption on several nodes at once.
func (s *Session) noneSelected(selector map[string]string) string {
	if len(selector) == 0 || len(selector) > maxLabels {
		return ""
	}
	wanted := labels.Set(selector)
	text := wanted.String()
	if known, found := s.selected.Load(text); found {
		return known.(string)
	}
	none := fmt.Sprintf("No node has the labels that a pod selects: <%s>", text)
	matches := wanted.AsSelectorPreValidated()
	if slices.ContainsFunc(s.Nodes, func(node *api.NodeInfo) bool {
		return node.Node != nil && matches.Matches(labels.Set(node.Node.Labels))
	}) {
		none = ""
	}
	s.selected.Store(text, none)
	return none
}

// tooLarge says that the largest node has too little of a refused resource for a pod. It is empty if it has enough. What DRA serves is not in
// the resources of nodes.
func (s *Session) tooLarge(exceeded *report.QuotaExceeded, pods int64) string {
	if exceeded.Dimension.Kind != ledger.Resource {
		return ""
	}
	name := corev1.ResourceName(exceeded.Dimension.Name)
	if _, devices := s.Snapshot.Catalog.Extended(name); devices {
		return ""
	}
	largest := s.largest(name)
	if fits, err := largest.Times(max(pods, 1)); err != nil || largest.Sign() <= 0 || exceeded.Requested.Cmp(fits) <= 0 {
		return ""
	}
	return fmt.Sprintf("No node has as much <%s> as a pod requests: the largest has <%s>", exceeded.Dimension, exceeded.Dimension.Format(largest))
}

// largest returns the most that a node has of a resource. It is safe for concurrent use.
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
