// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"maps"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// pluginName is the name of the plugin that completes a session.
const pluginName = "snapshot"

func init() {
	framework.RegisterPluginBuilder(pluginName, func(arguments framework.Arguments) framework.Plugin {
		return completion{arguments[pluginName].(*Cache)}
	})
}

// Open opens a session of a cache whose snapshots are made by Snapshot.
func (c *Cache) Open(cache schedulercache.Cache, tiers []conf.Tier, configurations []conf.Configuration) *framework.Session {
	first := conf.Tier{Plugins: []conf.PluginOption{{Name: pluginName, Arguments: framework.Arguments{pluginName: c}}}}
	return framework.OpenSession(hiding{cache, c}, append([]conf.Tier{first}, tiers...), configurations)
}

// hiding is a cache whose snapshots lack what Volcano would copy or count again while it opens a session.
type hiding struct {
	schedulercache.Cache
	copies *Cache
}

// Snapshot implements the interface of Volcano's cache.
func (h hiding) Snapshot() *api.ClusterInfo {
	snapshot := h.Cache.Snapshot()
	for name := range snapshot.Nodes {
		h.copies.nodes[name].hide()
	}
	for id, info := range snapshot.Jobs {
		if !info.ContainsNetworkTopology() && info.AllocatedHyperNode == "" {
			h.copies.jobs[id].hide()
		}
	}
	return snapshot
}

// completion shows what was hidden before the other plugins open. It has the first tier of the session for itself, and removes this tier.
type completion struct{ *Cache }

// Name returns the name of the plugin.
func (completion) Name() string { return pluginName }

// OnSessionOpen implements framework.Plugin.
func (c completion) OnSessionOpen(session *framework.Session) {
	for name := range session.Nodes {
		c.views[name] = c.nodes[name].reveal(session.NodeMap[name], c.views[name])
		session.NodeMap[name] = c.views[name]
	}
	if len(c.views) > len(session.Nodes) {
		maps.DeleteFunc(c.views, func(name string, _ fwk.NodeInfo) bool { return session.Nodes[name] == nil })
	}
	for id := range session.Jobs {
		c.jobs[id].reveal()
	}
	session.Tiers = session.Tiers[1:]
}

// OnSessionClose implements framework.Plugin.
func (completion) OnSessionClose(*framework.Session) {}
