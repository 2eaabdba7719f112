// SPDX-License-Identifier: Apache-2.0

package checks

import (
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

// withNodes adds to a refusal of the quota that no node would do anyway. Otherwise, the owner would ask for a quota that does not help. Such
// pods are not refused for that: a node may be added for them.
func withNodes(refusal report.Refusal, noNode string) report.Refusal {
	if exceeded, quota := refusal.(report.QuotaExceeded); quota {
		exceeded.NoNode = noNode
		return exceeded
	}
	return refusal
}

// NeverFits returns the refusal of a pod for which no node would do, nil if some would.
func (s *Session) NeverFits(pod *demand.Pod) report.Refusal {
	if none := s.noNodeFor(pod); none != "" {
		return report.NeverFits{NoNode: none}
	}
	return nil
}

// noNodeFor is noNode for one pod. Of what it may choose from, nothing counts.
func (s *Session) noNodeFor(pod *demand.Pod) string {
	var asked ledger.Amounts
	for _, part := range s.Snapshot.Asked(pod) {
		asked = demand.Sum(asked, part.Amounts())
	}
	return s.noNode(asked, 1, func(yield func(map[string]string) bool) { yield(pod.Object.Spec.NodeSelector) })
}

// noNode says why no node would do even if it were empty: none has the labels of one of the selectors, or the largest has too little for one
// of the pods that together ask for the amounts. It is empty if some node would.
func (s *Session) noNode(asked ledger.Amounts, pods int64, selectors iter.Seq[map[string]string]) string {
	first := ""
	for selector := range selectors {
		if none := s.noneSelected(selector); none != "" && (first == "" || none < first) {
			first = none // so that a refusal stays the same
		}
	}
	for i := 0; first == "" && i < len(asked); i++ {
		first = s.tooLarge(s.Snapshot.Dimensions.Dimension(asked[i].Dimension), asked[i].Amount, pods)
	}
	return first
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

// tooLarge says that the largest node has too little of something for one of the pods that together request an amount. It is empty if it has
// enough.
func (s *Session) tooLarge(dimension ledger.Dimension, requested ledger.Amount, pods int64) string {
	largest := s.largest(dimension)
	if fits, err := largest.Times(max(pods, 1)); err != nil || largest.Sign() <= 0 || requested.Cmp(fits) <= 0 {
		return ""
	}
	asked := "a pod requests"
	if pods <= 1 {
		asked += ", which is <" + dimension.Format(requested) + ">"
	}
	return fmt.Sprintf("No node has as much <%s> as %s: the largest has <%s>", dimension, asked, dimension.Format(largest))
}

// largest returns the most that a node has of a dimension. It is zero if that is not known. It is safe for concurrent use.
func (s *Session) largest(dimension ledger.Dimension) ledger.Amount {
	switch dimension.Kind {
	case ledger.DeviceCount:
		if s.MostDevices != nil {
			return ledger.Units(s.MostDevices(dimension.Name))
		}
	case ledger.Resource:
		return s.largestOf(corev1.ResourceName(dimension.Name))
	}
	return ledger.Amount{}
}

// largestOf returns the most that a node has of a resource. What DRA serves is not in the resources of nodes.
func (s *Session) largestOf(name corev1.ResourceName) ledger.Amount {
	if known, found := s.largestNodes.Load(name); found {
		return known.(ledger.Amount)
	}
	most := 0.0
	for _, node := range s.Nodes {
		most = max(most, node.Allocatable.Get(name))
	}
	if _, devices := s.Snapshot.Catalog.Extended(name); devices {
		most = 0
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
