// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/settings"
)

// Configuration is a configuration of the scheduler.
type Configuration struct {
	// Object is the ConfigMap or the file.
	Object Ref
	// Field is the place of the text in the ConfigMap. It is empty if the object is a file.
	Field Path
	// Text is the configuration as YAML.
	Text string
}

// schedulerConfiguration has the fields of Volcano's configuration that lint reads.
type schedulerConfiguration struct {
	Actions string `json:"actions"`
	Tiers   []struct {
		Plugins []plugin `json:"plugins"`
	} `json:"tiers"`
}

// plugin has the relevant options of a plugin. In Volcano, options that are not set are true, except enableHierarchy.
type plugin struct {
	Name              string         `json:"name"`
	EnableJobStarving *bool          `json:"enableJobStarving"`
	EnableReclaimable *bool          `json:"enableReclaimable"`
	EnablePreemptive  *bool          `json:"enablePreemptive"`
	EnableHierarchy   *bool          `json:"enableHierarchy"`
	Arguments         map[string]any `json:"arguments"`
}

// configured is a configuration after parsing.
type configured struct {
	*Configuration
	schedulerConfiguration
	settings settings.Settings
	invalid  []settings.Invalid
	// own is the plugin capacity, or nil if it is not configured.
	own *plugin
	// fault is the reason why reclaim does not work.
	fault problems.ReclaimFault
}

// reclaimableVerb is the argument with which upstream's plugin extender names victims.
const reclaimableVerb = "extender.reclaimableVerb"

func readConfiguration(c *Configuration) (*configured, error) {
	read := &configured{Configuration: c}
	if err := yaml.Unmarshal([]byte(c.Text), &read.schedulerConfiguration); err != nil {
		return nil, err
	}
	actions := map[string]bool{}
	for action := range strings.SplitSeq(read.Actions, ",") {
		actions[strings.TrimSpace(action)] = true
	}
	tiers := make([][]problems.Plugin, len(read.Tiers))
	for i := range read.Tiers {
		for j := range read.Tiers[i].Plugins {
			p := &read.Tiers[i].Plugins[j]
			if read.own == nil && isCapacity(p.Name) {
				read.own = p
			}
			verb, _ := p.Arguments[reclaimableVerb].(string)
			tiers[i] = append(tiers[i], problems.Plugin{
				Name: p.Name, Starving: ptr.Deref(p.EnableJobStarving, true), Reclaimable: ptr.Deref(p.EnableReclaimable, true),
				Preemptive: ptr.Deref(p.EnablePreemptive, true), Hierarchy: ptr.Deref(p.EnableHierarchy, false), ReclaimableVerb: verb,
			})
		}
	}
	if read.own != nil {
		read.settings, read.invalid = settings.Read(read.own.Name, read.own.Arguments)
		read.fault = problems.FindReclaimFault(tiers, read.own.Name, actions)
	}
	return read, nil
}

func isCapacity(plugin string) bool { return plugin == settings.Name || plugin == settings.CardName }

// hierarchy reports whether queues have parents.
func (c *configured) hierarchy() bool {
	return c.own != nil && ptr.Deref(c.own.EnableHierarchy, false) && !c.settings.CapacityCardMode
}
