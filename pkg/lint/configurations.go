// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/settings"
)

// allocateDevices is the argument of the plugin predicates that makes the scheduler allocate devices.
const allocateDevices = "predicate.DynamicResourceAllocationEnable"

// checkConfigurations finds mistakes in configurations of the scheduler.
func (w *world) checkConfigurations() {
	for _, c := range w.Configurations {
		read, err := readConfiguration(c)
		if err != nil {
			w.add(ConfigurationNotRead, c.Object, c.Field, "The scheduler's configuration is no valid YAML: "+err.Error())
			continue
		}
		w.checkPlugins(read)
		w.checkArguments(read)
	}
}

// checkPlugins finds missing and forbidden plugins.
func (w *world) checkPlugins(c *configured) {
	var own []string
	allocates := false
	for i := range c.Tiers {
		for j := range c.Tiers[i].Plugins {
			p, field := &c.Tiers[i].Plugins[j], c.fieldOf(i, j)
			switch {
			case isCapacity(p.Name):
				own = append(own, p.Name)
				if len(own) > 1 {
					w.add(CapacityTwice, c.Object, field, fmt.Sprintf("The configuration has the plugins %s: each of them would count all pods, so that quotas hold twice; remove one", strings.Join(own, " and ")))
				}
			case p.Name == "proportion":
				w.add(ProportionBesideCapacity, c.Object, field, "The configuration has the plugin proportion, which divides the cluster by the weights of queues and contradicts the quotas of the plugin capacity: remove it")
			case p.Name == "predicates":
				on, _ := p.Arguments[allocateDevices].(bool)
				allocates = allocates || on
			}
		}
	}
	if len(own) == 0 {
		w.add(CapacityMissing, c.Object, c.Field, "The configuration has no plugin capacity, so that no quota of devices and cards holds: add it to the tier that has gang and conformance")
		return
	}
	if !allocates {
		w.add(DevicesNotAllocated, c.Object, c.Field, fmt.Sprintf("The scheduler does not allocate devices: set %s to true in the arguments of the plugin predicates", allocateDevices))
	}
	w.checkHierarchy(c)
}

// checkHierarchy finds queues whose parents have no effect.
func (w *world) checkHierarchy(c *configured) {
	if c.hierarchy() || c.settings.CapacityCardMode && !ptr.Deref(c.own.EnableHierarchy, false) {
		return
	}
	for _, queue := range w.Queues {
		if parent := queue.Spec.Parent; parent != "" && parent != quota.Root {
			w.add(HierarchyIgnored, c.Object, c.Field, fmt.Sprintf("Queue <%s> has the parent <%s>, but the plugin %s ignores the parents of queues, so that quotas hold for each queue alone: %s", queue.Name, parent, c.own.Name, c.hierarchyRemedy()))
			return
		}
	}
}

func (c *configured) hierarchyRemedy() string {
	if c.settings.CapacityCardMode {
		return "use the plugin " + settings.Name
	}
	return "set its enableHierarchy to true"
}

// checkArguments finds arguments that the plugin does not read, and invalid values.
func (w *world) checkArguments(c *configured) {
	if c.own == nil {
		return
	}
	for _, i := range c.invalid {
		w.add(InvalidArgument, c.Object, c.Field, fmt.Sprintf("The argument %s of the plugin %s is %v, and is left out: %v", i.Argument, c.own.Name, i.Value, i.Err))
	}
	for _, name := range slices.Sorted(maps.Keys(c.own.Arguments)) {
		if !slices.Contains(settings.Names, name) {
			w.add(UnknownArgument, c.Object, c.Field, fmt.Sprintf("The plugin %s has no argument %s: it reads %s", c.own.Name, name, strings.Join(settings.Names, ", ")))
		}
	}
}

// fieldOf returns the place of a plugin. The lines of a text in a ConfigMap are unknown.
func (c *configured) fieldOf(tier, plugin int) Path {
	if len(c.Field) > 0 {
		return c.Field
	}
	return Path{"tiers", strconv.Itoa(tier), "plugins", strconv.Itoa(plugin)}
}
