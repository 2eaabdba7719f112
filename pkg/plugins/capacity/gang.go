// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// gangPlugin is upstream's plugin gang. Volcano closes the plugins of a session in random order. In a session that also has the
// plugin capacity, capacity closes gang at the right time. It must be after the reasons of waiting jobs are known, which gang
// quotes in its conditions. It must be before the refused jobs leave the session, because gang counts them in its metrics.
type gangPlugin struct {
	framework.Plugin
	cache *cache
}

// OnSessionOpen implements framework.Plugin.
func (g *gangPlugin) OnSessionOpen(ssn *framework.Session) {
	g.cache.gang = g
	g.Plugin.OnSessionOpen(ssn)
	ssn.AddTaskOrderFn(gang.PluginName, snapshot.TaskOrder(ssn.Jobs))
}

// OnSessionClose implements framework.Plugin.
func (g *gangPlugin) OnSessionClose(ssn *framework.Session) {
	if g.cache.session != ssn.UID {
		g.cache.closeGang(ssn)
	}
}

// closeGang closes the plugin gang of a session, if the session has it.
func (c *cache) closeGang(ssn *framework.Session) {
	if g := c.gang; g != nil {
		c.gang = nil
		g.Plugin.OnSessionClose(ssn)
	}
}
