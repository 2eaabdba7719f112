// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Name is the name of the plugin in the configuration.
const Name = "capacity"

// Registration is the plugin.
var Registration = framework.Registration{
	Check: check,
	New:   func(given framework.Arguments) framework.Plugin { return &plugin{arguments: readArguments(given)} },
}

// plugin lives for one session.
type plugin struct {
	arguments

	session *framework.Session
	books   *books
	queues  map[string]*queueState
	// refused caches the refusals of the session. Equal workloads are refused with the same text.
	refused map[refusalKey]*framework.Refusal
	reclaim reclaim
}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// OnSessionOpen implements framework.Plugin.
func (p *plugin) OnSessionOpen(s *framework.Session) {
	p.session, p.refused = s, map[refusalKey]*framework.Refusal{}
	p.books = newBooks(s.Snapshot, p.arguments)
	s.Ledger = p.books.Ledger
	p.readQueues()
	s.AddQueueOrderFn(Name, p.queueOrder)
	s.AddEnqueueableFn(Name, p.enqueueable)
	s.AddAllocatableFn(Name, p.allocatable)
	if p.mayReclaim {
		p.reclaim = newReclaim(p)
		s.AddReclaimableFn(Name, p.reclaim.victims)
	}
	s.AddEventHandler(framework.EventHandler{Allocate: p.books.allocate, Deallocate: p.books.deallocate})
}

// OnSessionClose implements framework.Plugin.
func (p *plugin) OnSessionClose(*framework.Session) {}
