// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

func TestWhoAllocatesDevices(t *testing.T) {
	on := map[string]any{predicates.DynamicResourceAllocationEnable: true}
	for _, c := range []struct {
		name    string
		plugins []conf.PluginOption
		want    bool
	}{
		{"capacity and predicates with devices", []conf.PluginOption{{Name: "capacity"}, {Name: Name, Arguments: on}}, true},
		{"predicates without devices", []conf.PluginOption{{Name: "capacity"}, {Name: Name}}, false},
		{"no capacity", []conf.PluginOption{{Name: "proportion"}, {Name: Name, Arguments: on}}, false},
		{"no predicates", []conf.PluginOption{{Name: "capacity"}}, false},
	} {
		if got := LeavesDevicesTo([]conf.Tier{{Plugins: c.plugins}}, "capacity", "capacity-card"); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
