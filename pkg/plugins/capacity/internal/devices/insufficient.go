// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Insufficient returns the refusal of a pod whose devices the quota allows, but no node has free, or no HyperNode if the pods of its job have to be
// together. It names the holders of the same classes that only root is charged for: users would not look for them there.
func (s *Session) Insufficient(state *State, together bool) report.Refusal {
	var classes []string
	for _, claim := range state.unallocated {
		for _, name := range claim.Usage.Capacities() {
			if !s.Catalog.HasCapacity(name) {
				return report.UnknownCapacity{Claim: nameOf(claim.Object), Capacity: string(name)}
			}
		}
		for class := range claim.Usage.Classes {
			if !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
	}
	slices.Sort(classes)
	refusal := report.InsufficientDevices{Classes: classes, Together: together}
	for _, holder := range s.rootHolders() {
		if slices.Contains(classes, holder.Class) {
			refusal.AtRoot = append(refusal.AtRoot, holder)
		}
	}
	return refusal
}

// rootHolders finds the holders of devices that are charged to root because their queue is unknown. It searches once per session.
func (s *Session) rootHolders() []report.RootHolder {
	if s.atRoot != nil {
		return s.atRoot
	}
	s.atRoot = []report.RootHolder{}
	claims, err := s.Reader.Allocated()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	for _, claim := range claims {
		if s.Attributed(claim.UID) {
			continue
		}
		usage, err := dra.Allocated(&claim.Spec, claim.Status.Allocation, s.Catalog)
		if err != nil {
			continue
		}
		counts := map[string]int{}
		for class := range usage.Classes {
			counts[class]++
		}
		for class, n := range counts {
			s.atRoot = append(s.atRoot, report.RootHolder{Class: class, Count: n, Who: s.consumerOf(claim)})
		}
	}
	slices.SortFunc(s.atRoot, func(a, b report.RootHolder) int { return strings.Compare(a.Who+a.Class, b.Who+b.Class) })
	return s.atRoot
}

// consumerOf describes the consumer of a claim, the first one if there are several.
func (s *Session) consumerOf(claim *resourceapi.ResourceClaim) string {
	if len(claim.Status.ReservedFor) == 0 {
		return "ResourceClaim " + nameOf(claim) + ", which nobody uses"
	}
	consumer := claim.Status.ReservedFor[0]
	who := fmt.Sprintf("%s %s/%s", strings.TrimSuffix(consumer.Resource, "s"), claim.Namespace, consumer.Name)
	pod, err := s.Pods.Pods(claim.Namespace).Get(consumer.Name)
	if err == nil && pod.UID == consumer.UID {
		who += " of " + pod.Spec.SchedulerName
	}
	return who
}
