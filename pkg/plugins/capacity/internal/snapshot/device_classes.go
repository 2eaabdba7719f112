// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// listClasses notes the classes in the device quota of a queue. It adds what is wrong with them to the problems of the queue.
func (s *Snapshot) listClasses(queue string, devices *quota.Limits) {
	var overlaps, listed []string
	for _, list := range []ledger.Amounts{devices.Capability, devices.Deserved, devices.Guarantee} {
		for _, e := range list {
			d := s.Dimensions.Dimension(e.Dimension)
			if !d.Kind.OfClass() || slices.Contains(listed, d.Name) {
				continue
			}
			s.limited[d.Name], listed = true, append(listed, d.Name)
			if others := s.Overlaps[d.Name]; len(others) > 0 {
				overlaps = append(overlaps, s.overlapText(d.Name, others))
			}
			if err := s.invalidClasses[d.Name]; err != nil {
				s.Problems.InvalidDeviceClass(queue, d.Name, err)
			}
		}
	}
	if len(overlaps) > 0 {
		slices.Sort(overlaps)
		s.Problems.ClassesOverlap(queue, overlaps, s.Matcher != nil)
	}
}

// overlapText returns the text about the overlaps of a class. It builds the text once per session.
func (s *Snapshot) overlapText(class string, others []string) string {
	text, written := s.overlapTexts[class]
	if !written {
		text = problems.Overlap{Class: class, Others: others}.String()
		if s.overlapTexts == nil {
			s.overlapTexts = map[string]string{}
		}
		s.overlapTexts[class] = text
	}
	return text
}

// LimitedClasses returns the classes that some queue lists in its device quota, sorted by name.
func (s *Snapshot) LimitedClasses() []string { return slices.Sorted(maps.Keys(s.limited)) }

// listOffering notes the classes behind the extended resources in a list of a queue. The implicit name of a class limits its devices,
// as spec.dra does.
func (s *Snapshot) listOffering(list corev1.ResourceList) {
	for name := range list {
		class, offered := s.Catalog.Extended(name)
		switch {
		case !offered:
		case strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix):
			s.limited[class] = true
		default:
			s.offering[class] = true
		}
	}
}

// matching returns the classes and cards that devices count for in this session.
func (s *Snapshot) matching() demand.Matching {
	if s.Matcher == nil {
		return demand.Matching{}
	}
	return demand.Matching{Matcher: s.Matcher, Limited: s.LimitedClasses(), Offering: slices.Sorted(maps.Keys(s.offering)), Cards: s.countsCards}
}

// findInvalidClasses notes the classes that could not be evaluated in the last session, for the problems of queues.
func (s *Snapshot) findInvalidClasses() {
	if s.Matcher == nil {
		return
	}
	for class, err := range s.Matcher.Invalid {
		if s.invalidClasses == nil {
			s.invalidClasses = map[string]error{}
		}
		s.invalidClasses[class] = err
	}
}

// UnlistedOnPick reports whether devices may be used only if a queue on the way to the root lists one of their classes.
// This is known only when devices are picked. If devices count only for the requested class, the ledger decides instead.
func (s *Snapshot) UnlistedOnPick() bool { return s.DeviceQuotaRequired && s.Matcher != nil }

// RefuseUnlisted refuses devices if a listed class is required but no queue on the way to the root lists one. The usage
// is what a claim asks for or has. The result is nil if the devices may be used, or are not known yet.
func (s *Snapshot) RefuseUnlisted(queue ledger.QueueID, usage *dra.Usage) report.Refusal {
	if !s.UnlistedOnPick() {
		return nil
	}
	var class string
	if s.limitsDevices(queue) {
		class = s.Counter.Claims.Unlisted(usage, func(class string) bool { return s.Ledger.ListsClass(queue, class) })
	} else {
		for class = range usage.Classes {
			break
		}
	}
	if class == "" {
		return nil
	}
	return report.DevicesUnlisted{Queue: s.Ledger.Name(queue), Class: class}
}

// RefuseUnlistedPod is RefuseUnlisted for those claims of a pod that are not charged yet.
func (s *Snapshot) RefuseUnlistedPod(queue ledger.QueueID, pod *demand.Pod) report.Refusal {
	if !s.UnlistedOnPick() {
		return nil
	}
	for _, claim := range pod.Claims {
		if s.Ledger.Charged(claim.Part) {
			continue
		}
		if refusal := s.RefuseUnlisted(queue, &claim.Usage); refusal != nil {
			return refusal
		}
	}
	return nil
}

// refuseUnlistedClaim refuses an allocated claim if a listed class is required, but no queue on the way to the root lists one of its classes.
func (s *Snapshot) refuseUnlistedClaim(queue ledger.QueueID, claim *demand.Claim) report.Refusal {
	if s.UnlistedOnPick() {
		return s.RefuseUnlisted(queue, &claim.Usage)
	}
	for _, e := range claim.Part.Amounts() {
		if d := s.Dimensions.Dimension(e.Dimension); s.noDeviceQuota(queue, d) && e.Amount.Sign() > 0 {
			return report.DevicesUnlisted{Queue: s.Ledger.Name(queue), Class: d.Name}
		}
	}
	return nil
}

// RefuseUnlistedJob refuses the devices that a job needs if no queue on the way to the root lists any class.
func (s *Snapshot) RefuseUnlistedJob(queue ledger.QueueID, needs demand.Needs) report.Refusal {
	if !s.UnlistedOnPick() || s.limitsDevices(queue) {
		return nil
	}
	lists := []ledger.Amounts{needs.Amounts}
	for _, choice := range needs.Choices {
		lists = append(lists, choice.Alternatives...)
	}
	for _, list := range lists {
		for _, e := range list {
			if d := s.Dimensions.Dimension(e.Dimension); d.Kind == ledger.DeviceCount && e.Amount.Sign() > 0 {
				return report.DevicesUnlisted{Queue: s.Ledger.Name(queue), Class: d.Name}
			}
		}
	}
	return nil
}

// noDeviceQuota reports whether a refusal is due to a missing quota: a listed class is required, but no queue on the
// way to the root lists this one.
func (s *Snapshot) noDeviceQuota(queue ledger.QueueID, d ledger.Dimension) bool {
	return s.DeviceQuotaRequired && d.Kind == ledger.DeviceCount && !s.Ledger.ListsClass(queue, d.Name)
}

// limitsDevices reports whether the capability of the queue or of an ancestor lists devices or their capacities.
func (s *Snapshot) limitsDevices(queue ledger.QueueID) bool {
	return s.Ledger.Limits(queue, ledger.DeviceCount) || s.Ledger.Limits(queue, ledger.DeviceCapacity)
}
