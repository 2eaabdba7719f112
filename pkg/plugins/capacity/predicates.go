package capacity

import (
	"maps"

	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// NewPredicates makes upstream's plugin predicates. Register it under that plugin's name: where the
// plugin capacity (or capacity-card) is in use, too, it is that one that hands out devices, and predicates must
// not do so again.
func NewPredicates(arguments framework.Arguments) framework.Plugin {
	return &withoutDevices{Plugin: predicates.New(arguments), arguments: arguments}
}

// withoutDevices is upstream's plugin, or one like it that leaves devices alone.
type withoutDevices struct {
	framework.Plugin
	arguments framework.Arguments
}

// OnSessionOpen implements framework.Plugin.
func (w *withoutDevices) OnSessionOpen(ssn *framework.Session) {
	if handsOutDevices(ssn) {
		arguments := framework.Arguments{}
		maps.Copy(arguments, w.arguments)
		arguments[predicates.DynamicResourceAllocationEnable] = false
		w.Plugin = predicates.New(arguments)
	}
	w.Plugin.OnSessionOpen(ssn)
}

var _ framework.BindContextHandler = &withoutDevices{}

// SetupBindContextExtension implements framework.BindContextHandler, without which upstream's plugin
// does not find what it needs to bind volumes.
func (w *withoutDevices) SetupBindContextExtension(state *k8sframework.CycleState, bind *cache.BindContext) {
	if handler, ok := w.Plugin.(framework.BindContextHandler); ok {
		handler.SetupBindContextExtension(state, bind)
	}
}

// handsOutDevices reports whether a session's configuration has the plugin capacity and asks, in
// upstream's words, for devices to be handed out.
func handsOutDevices(ssn *framework.Session) bool {
	used, enabled := false, false
	for _, tier := range ssn.Tiers {
		for _, plugin := range tier.Plugins {
			switch plugin.Name {
			case Name, CardName:
				used = true
			case predicates.PluginName:
				framework.Arguments(plugin.Arguments).GetBool(&enabled, predicates.DynamicResourceAllocationEnable)
			}
		}
	}
	return used && enabled
}
