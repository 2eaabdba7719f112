// SPDX-License-Identifier: Apache-2.0

// Package priority orders the workloads of a queue by their PriorityClasses. It does not order queues.
package priority

import (
	"cmp"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Name is the name of the plugin in the configuration.
const Name = "priority"

// Registration is the plugin, which has no arguments.
var Registration = framework.Registration{
	Check: func(given framework.Arguments) error { return given.Known() },
	New:   func(framework.Arguments) framework.Plugin { return plugin{} },
}

type plugin struct{}

// Name implements framework.Plugin.
func (plugin) Name() string { return Name }

// OnSessionOpen implements framework.Plugin.
func (plugin) OnSessionOpen(s *framework.Session) {
	of := s.Priorities()
	s.AddJobOrderFn(Name, func(a, b *framework.Workload) int { return cmp.Compare(of(b), of(a)) })
}

// OnSessionClose implements framework.Plugin.
func (plugin) OnSessionClose(*framework.Session) {}
