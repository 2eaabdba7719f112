// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/mistakes"
	"github.com/devicequota/devicequota/pkg/mistakes/find"
)

// keptMistakes are those that were found. They are found anew only if something has changed that they
// depend on.
type keptMistakes struct {
	found find.Found
	facts facts
	// queues has the version of each queue that was looked at, and changed says that there is another one.
	queues  map[string]queueVersion
	changed bool
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
	reclaim       mistakes.ReclaimFault
}

// note notes the version of a queue in a session.
func (m *keptMistakes) note(queue string, version queueVersion) {
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
func (s *Snapshot) findMistakes() mistakes.Problems {
	m, now := &s.mistakes, facts{catalog: s.Catalog, fleet: s.Fleet.Edition(), queues: len(s.Queues), hierarchy: s.Hierarchy, reclaim: s.ReclaimFault}
	if !m.changed && m.facts == now {
		return m.found.Problems
	}
	m.facts, m.changed = now, false
	finder := find.Finder{
		Ledger: s.Ledger, Dimensions: s.Dimensions, Fleet: s.Fleet, Catalog: s.Catalog, ServesClaims: s.ServesClaims,
		ReclaimFault: s.ReclaimFault, Queue: s.quotedQueue,
	}
	names := make([]string, 0, len(s.Queues))
	for _, info := range s.Queues {
		names = append(names, info.Name)
	}
	m.found = finder.Find(names)
	maps.DeleteFunc(m.queues, func(name string, v queueVersion) bool { return !s.has(name, v) })
	return m.found.Problems
}

// quotedQueue returns a queue for the search for mistakes.
func (s *Snapshot) quotedQueue(name string) *find.Queue {
	state := s.queues[name]
	queue := &find.Queue{Name: name, Object: state.version.object, ListsCards: state.listsCards, Cards: state.cards, Devices: state.devices}
	if info, found := s.Queues[api.QueueID(name)]; found {
		spec := &info.Queue.Spec
		queue.Resources = [3]corev1.ResourceList{spec.Capability, spec.Deserved, spec.Guarantee.Resource}
	}
	return queue
}

// Deserving reports whether some queue deserves something, and whether the scheduler's configuration keeps some queue from getting
// that.
func (s *Snapshot) Deserving() (some, wronged bool) {
	return s.mistakes.found.Deserving, s.mistakes.found.Wronged
}

// has reports whether the session has a queue in that version.
func (s *Snapshot) has(name string, version queueVersion) bool {
	state, found := s.queues[name]
	return found && state.version == version
}
