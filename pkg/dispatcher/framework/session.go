// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Session is one cycle. Plugins register functions when it opens, and the dispatcher calls them.
type Session struct {
	*Snapshot
	// Search is how far the search for workloads that may go has come.
	Search *Search
	// Ledger has the charges of all workloads, including the decisions so far. The plugin that charges them sets it. It is nil without that plugin.
	Ledger *ledger.Ledger

	// plugins are the plugins of all tiers, in order.
	plugins []Plugin
	// names are the names of the plugins in the configuration, in the order of the tiers.
	names []string

	queueOrder  functions[func(a, b string) int]
	jobOrder    functions[func(a, b *Workload) int]
	enqueueable functions[func(*Workload) *Refusal]
	allocatable functions[func(*Workload) *Refusal]
	reclaimable functions[func(*Workload) []*Workload]
	handlers    []EventHandler
}

// functions are the functions of the plugins at an extension point, in the order of the tiers.
type functions[F any] []function[F]

type function[F any] struct {
	// rank is the place of the plugin in the configuration.
	rank int
	call F
}

// add adds the function of a plugin, and replaces an earlier one of the same plugin. It ignores plugins that the configuration does not name.
func (fs *functions[F]) add(s *Session, plugin string, f F) {
	rank := slices.Index(s.names, plugin)
	if rank < 0 {
		return
	}
	i, found := slices.BinarySearchFunc(*fs, rank, func(g function[F], rank int) int { return cmp.Compare(g.rank, rank) })
	if found {
		(*fs)[i].call = f
	} else {
		*fs = slices.Insert(*fs, i, function[F]{rank, f})
	}
}

// EventHandler receives the decisions of the session, to keep the accounts of a plugin current within the cycle. A nil function is not called.
type EventHandler struct {
	// Allocate is called when a workload is granted all its needs, in place of its previous grant.
	Allocate func(*Workload)
	// Deallocate is called when a grant ends.
	Deallocate func(*Workload)
}

// Open opens a session. It makes the plugins of the configuration and lets them register their functions.
func Open(config *Config, snapshot *Snapshot) *Session {
	s := &Session{Snapshot: snapshot, Search: NewSearch()}
	for _, tier := range config.Tiers {
		for _, p := range tier.Plugins {
			s.names = append(s.names, p.Name)
			if r, err := registered(p.Name); err == nil { // ParseConfig has checked the names
				s.plugins = append(s.plugins, r.New(p.Arguments))
			}
		}
	}
	for _, p := range s.plugins {
		p.OnSessionOpen(s)
	}
	return s
}

// Close lets the plugins finish, in reverse order.
func (s *Session) Close() {
	for i := len(s.plugins) - 1; i >= 0; i-- {
		s.plugins[i].OnSessionClose(s)
	}
}

// AddQueueOrderFn registers a comparison of two queues by name. It is negative if the first comes first.
func (s *Session) AddQueueOrderFn(plugin string, f func(a, b string) int) {
	s.queueOrder.add(s, plugin, f)
}

// AddJobOrderFn registers a comparison of two workloads of one queue. It is negative if the first comes first.
func (s *Session) AddJobOrderFn(plugin string, f func(a, b *Workload) int) {
	s.jobOrder.add(s, plugin, f)
}

// AddEnqueueableFn registers whether a workload may be considered in this cycle.
func (s *Session) AddEnqueueableFn(plugin string, f func(*Workload) *Refusal) {
	s.enqueueable.add(s, plugin, f)
}

// AddAllocatableFn registers whether a workload may be granted all its needs now.
func (s *Session) AddAllocatableFn(plugin string, f func(*Workload) *Refusal) {
	s.allocatable.add(s, plugin, f)
}

// AddReclaimableFn registers which workloads must go to make room for a refused workload, nil if none may. The first plugin that returns any decides.
func (s *Session) AddReclaimableFn(plugin string, f func(*Workload) []*Workload) {
	s.reclaimable.add(s, plugin, f)
}

// AddEventHandler registers a handler of decisions.
func (s *Session) AddEventHandler(h EventHandler) { s.handlers = append(s.handlers, h) }

// QueueOrder compares two queues. The first plugin that prefers one decides. If none does, the names decide.
func (s *Session) QueueOrder(a, b string) int {
	for _, f := range s.queueOrder {
		if order := f.call(a, b); order != 0 {
			return order
		}
	}
	return strings.Compare(a, b)
}

// JobOrder compares two workloads of one queue. The first plugin that prefers one decides. If none does, the older comes
// first, and then the namespace and the name decide.
func (s *Session) JobOrder(a, b *Workload) int {
	for _, f := range s.jobOrder {
		if order := f.call(a, b); order != 0 {
			return order
		}
	}
	return cmp.Or(a.Created.Compare(b.Created),
		strings.Compare(a.Binding.Namespace, b.Binding.Namespace), strings.Compare(a.Binding.Name, b.Binding.Name))
}

// Enqueueable returns the refusal of the first plugin that refuses, nil if none does.
func (s *Session) Enqueueable(w *Workload) *Refusal { return refusalOf(s.enqueueable, w) }

// Allocatable returns the refusal of the first plugin that refuses, nil if none does.
func (s *Session) Allocatable(w *Workload) *Refusal { return refusalOf(s.allocatable, w) }

func refusalOf(of functions[func(*Workload) *Refusal], w *Workload) *Refusal {
	for _, f := range of {
		if refusal := f.call(w); refusal != nil {
			return refusal
		}
	}
	return nil
}

// Reclaims reports whether workloads may be taken back for others.
func (s *Session) Reclaims() bool { return len(s.reclaimable) > 0 }

// Reclaimable returns the workloads that must go to make room for a workload, nil if none may.
func (s *Session) Reclaimable(w *Workload) []*Workload {
	for _, f := range s.reclaimable {
		if victims := f.call(w); len(victims) > 0 {
			return victims
		}
	}
	return nil
}

// Allocate notifies all plugins that a workload is granted all its needs.
func (s *Session) Allocate(w *Workload) {
	for _, h := range s.handlers {
		if h.Allocate != nil {
			h.Allocate(w)
		}
	}
}

// Deallocate notifies all plugins that the grant of a workload has ended.
func (s *Session) Deallocate(w *Workload) {
	for _, h := range s.handlers {
		if h.Deallocate != nil {
			h.Deallocate(w)
		}
	}
}
