// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/problems/find"
)

// keptMistakes are the mistakes found so far. The search runs again only if something changes that they depend on.
type keptMistakes struct {
	found find.Found
	facts facts
	// queues has the version of each queue at the last search. changed says that a queue has changed since.
	queues  map[string]queueVersion
	changed bool
}

// queueVersion is a queue as seen by the session and by the API server. Both objects are replaced when the queue changes.
type queueVersion struct {
	written *scheduling.Queue
	object  *schedulingv1beta1.Queue
}

// same reports whether two versions of a queue have the same spec and annotations. The status and the usage annotations do
// not count: they change in each busy cycle.
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

// lasting returns annotations without the usage annotations.
func lasting(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	delete(kept, schedulingv1beta1.DeviceUsageAnnotation)
	delete(kept, schedulingv1beta1.CardUsageAnnotation)
	return kept
}

// facts are the things besides queues that mistakes depend on.
type facts struct {
	catalog       *dra.Catalog
	fleet, queues int
	hierarchy     bool
	reclaim       problems.ReclaimFault
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

// findMistakes returns the definite mistakes in the quotas of queues.
func (s *Snapshot) findMistakes() problems.Problems {
	m, now := &s.mistakes, facts{catalog: s.Catalog, fleet: s.Fleet.Generation(), queues: len(s.Queues), hierarchy: s.Hierarchy, reclaim: s.ReclaimFault}
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

// Deserving reports whether some queue deserves something, and whether the scheduler's configuration keeps some queue from getting it.
func (s *Snapshot) Deserving() (some, wronged bool) {
	return s.mistakes.found.Deserving, s.mistakes.found.Wronged
}

// has reports whether the session has this version of a queue.
func (s *Snapshot) has(name string, version queueVersion) bool {
	state, found := s.queues[name]
	return found && state.version == version
}
