// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/quota"
)

// mistakes are quotas that are valid and surely not meant. They are found anew only if something has changed that they
// depend on.
type mistakes struct {
	found report.Problems
	facts facts
	// queues has the version of each queue that was looked at, and changed says that there is another one.
	queues  map[string]queueVersion
	changed bool
	// deserving says that some queue deserves something, and wronged that the scheduler's configuration keeps some queue from
	// getting it.
	deserving, wronged bool
}

// queueVersion is a queue as the session and as the API server have it. Both objects are replaced when the queue
// changes.
type queueVersion struct {
	written *scheduling.Queue
	object  *schedulingv1beta1.Queue
}

// same reports whether two versions of a queue have the same spec and annotations. The status, and what the annotations say
// of the use of the queue, change in each busy cycle.
func (v queueVersion) same(other queueVersion) bool {
	if v == other {
		return true
	}
	if v.written == nil || other.written == nil || v.object == nil || other.object == nil {
		return false
	}
	return v.written.UID == other.written.UID && v.written.Generation == other.written.Generation && v.written.Generation > 0 &&
		v.object.UID == other.object.UID && v.object.Generation == other.object.Generation &&
		maps.Equal(lasting(v.object.Annotations), lasting(other.object.Annotations))
}

// lasting returns annotations without those that say what a queue uses.
func lasting(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	delete(kept, schedulingv1beta1.DeviceUsageAnnotation)
	delete(kept, schedulingv1beta1.CardUsageAnnotation)
	return kept
}

// facts are what mistakes depend on besides queues.
type facts struct {
	catalog       *dra.Catalog
	fleet, queues int
	hierarchy     bool
	reclaim       report.ReclaimFault
}

// note notes the version of a queue in a session.
func (m *mistakes) note(queue string, version queueVersion) {
	if m.queues == nil {
		m.queues = map[string]queueVersion{}
	}
	last := m.queues[queue]
	if last == version {
		return
	}
	m.queues[queue], m.changed = version, m.changed || !last.same(version)
}

// findMistakes returns what is surely a mistake in the quotas of queues.
func (s *Snapshot) findMistakes() report.Problems {
	m, now := &s.mistakes, facts{catalog: s.Catalog, fleet: s.Fleet.Edition(), queues: len(s.Queues), hierarchy: s.Hierarchy, reclaim: s.ReclaimFault}
	if !m.changed && m.facts == now {
		return m.found
	}
	m.facts, m.changed, m.found, m.deserving, m.wronged = now, false, report.Problems{}, false, false
	for _, info := range s.Queues {
		if queue, found := s.Ledger.Queue(info.Name); found {
			s.findUnknown(queue)
			s.findReclaimFault(queue)
			s.findCardsNotListed(queue)
		}
		s.findContradiction(info.Name)
		s.findClassesInCapability(info)
		s.findAnnotations(info.Name)
	}
	for _, above := range s.Ledger.AboveParents() {
		m.found.LimitAboveParent(s.Ledger.Name(above.Queue), s.Ledger.Name(above.Above), above)
	}
	maps.DeleteFunc(m.queues, func(name string, v queueVersion) bool { return !s.has(name, v) })
	return m.found
}

// has reports whether the session has a queue in that version.
func (s *Snapshot) has(name string, version queueVersion) bool {
	state, found := s.queues[name]
	return found && state.version == version
}

// findUnknown finds DeviceClasses and cards that the cluster does not have. It judges nothing before DeviceClasses have
// been read.
func (s *Snapshot) findUnknown(queue ledger.QueueID) {
	var classes []string
	cards := map[string][]string{}
	for o := range ledger.Ordinal(s.Dimensions.Len()) {
		if !s.Ledger.Capability(queue, o).Set && !s.Ledger.Deserved(queue, o).Set && !s.Ledger.Guarantee(queue, o).Set {
			continue
		}
		d := s.Dimensions.Dimension(o)
		_, isClass := s.Catalog.Class(d.Name)
		switch {
		case s.Catalog == nil && (d.Kind != ledger.Card || s.ServesClaims):
		case d.Kind == ledger.DeviceCount && !isClass:
			classes = append(classes, d.Name)
		case d.Kind == ledger.Card && !s.Fleet.Known(d.Name) && !s.Catalog.HasCard(d.Name):
			annotation := s.annotationWith(queue, o)
			cards[annotation] = append(cards[annotation], d.Name)
		}
	}
	if len(classes) > 0 {
		s.mistakes.found.UnknownDeviceClasses(s.Ledger.Name(queue), classes)
	}
	for _, annotation := range quota.CardAnnotations {
		if len(cards[annotation]) > 0 {
			s.mistakes.found.UnknownCards(s.Ledger.Name(queue), annotation, cards[annotation])
		}
	}
}

// findClassesInCapability finds DeviceClasses among the resources of a queue. The ledger does not have them: Volcano
// leaves out names that no resource can have.
func (s *Snapshot) findClassesInCapability(queue *api.QueueInfo) {
	spec := queue.Queue.Spec
	classes := map[string]bool{}
	for _, resources := range []corev1.ResourceList{spec.Capability, spec.Deserved, spec.Guarantee.Resource} {
		for name := range resources {
			if _, isClass := s.Catalog.Class(string(name)); isClass && !isNative(name) {
				classes[string(name)] = true
			}
		}
	}
	if len(classes) > 0 {
		s.mistakes.found.ClassesInCapability(queue.Name, slices.Collect(maps.Keys(classes)))
	}
}

// isNative reports whether a name is that of a resource of Kubernetes, which a DeviceClass may have, too.
func isNative(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// findAnnotations finds annotations of a queue whose names are nearly right.
func (s *Snapshot) findAnnotations(queue string) {
	object := s.queues[queue].version.object
	if object == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object.Annotations)) {
		if meant := quota.MeantAnnotation(key); meant != "" {
			s.mistakes.found.UnknownAnnotation(queue, key, meant)
		}
	}
}
