// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"

	"github.com/mitchellh/mapstructure"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/deviceshare"
	"volcano.sh/volcano/pkg/scheduler/plugins/extender"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	fit "volcano.sh/volcano/pkg/scheduler/plugins/resource-strategy-fit"

	"github.com/devicequota/devicequota/pkg/settings"
)

// leftOut returns the parts of the configuration that upstream would ignore: plugins that do not exist, and invalid arguments of the plugin capacity,
// which have their defaults.
func (c *configuration) leftOut() error {
	return c.eachPlugin(func(plugin *conf.PluginOption) (problems []error) {
		if _, exists := framework.GetPluginBuilder(plugin.Name); !exists {
			problems = append(problems, errors.New("there is no such plugin"))
		}
		if plugin.Name != settings.Name && plugin.Name != settings.CardName {
			return problems
		}
		_, invalid := settings.Read(plugin.Name, plugin.Arguments)
		for _, i := range invalid {
			problems = append(problems, fmt.Errorf("argument %s: %v: %w", i.Argument, i.Value, i.Err))
		}
		return problems
	})
}

// fatal returns the errors that would end the process when a session opens.
func (c *configuration) fatal() error {
	return c.eachPlugin(func(plugin *conf.PluginOption) (problems []error) {
		for argument, check := range fatalArguments[plugin.Name] {
			if value, given := plugin.Arguments[argument]; given {
				if err := check(value); err != nil {
					problems = append(problems, fmt.Errorf("argument %s: %w", argument, err))
				}
			}
		}
		if plugin.Name == deviceshare.PluginName {
			problems = append(problems, contradictorySharing(plugin.Arguments))
		}
		return problems
	})
}

// eachPlugin joins the problems of all plugins.
func (c *configuration) eachPlugin(find func(*conf.PluginOption) []error) error {
	var all []error
	for _, tier := range c.tiers {
		for i := range tier.Plugins {
			if err := errors.Join(find(&tier.Plugins[i])...); err != nil {
				all = append(all, fmt.Errorf("plugin %s: %w", tier.Plugins[i].Name, err))
			}
		}
	}
	return errors.Join(all...)
}

// fatalArguments are the arguments that upstream's plugins read with framework.Get, by plugin and name. A value of the wrong type ends the process.
var fatalArguments = map[string]map[string]func(any) error{
	predicates.PluginName: {
		"volumebinding.weight":                  decode[int],
		"volumebinding.bindTimeoutSeconds":      decodeTimeout,
		"volumebinding.shape":                   decode[[]kubescheduler.UtilizationShapePoint],
		"dynamicresources.filterTimeoutSeconds": decode[int],
	},
	extender.PluginName: {extender.ExtenderManagedResources: decode[[]string]},
	fit.PluginName: {
		"resourceStrategyFitWeight": decode[int],
		"resources":                 decode[map[string]fit.ResourcesType],
		"proportional":              decode[proportional],
		"sra":                       decode[sra],
	},
}

// proportional and sra copy the unexported argument types of upstream's plugin resource-strategy-fit.
type (
	proportional struct {
		Enable             bool
		Resources          string
		ResourceProportion map[string]float64
	}
	sra struct {
		Enable         bool
		Resources      string
		Weight         int
		ResourceWeight map[string]int
	}
)

// decode decodes a value as framework.Get does.
func decode[T any](value any) error {
	var into T
	return mapstructure.Decode(value, &into)
}

// decodeTimeout also refuses negative values, which end the process in upstream's plugin.
func decodeTimeout(value any) error {
	var seconds int64
	if err := mapstructure.Decode(value, &seconds); err != nil {
		return err
	}
	if seconds < 0 {
		return fmt.Errorf("%d is negative", seconds)
	}
	return nil
}

// contradictorySharing returns an error if the arguments of upstream's plugin deviceshare enable several ways to share GPUs.
func contradictorySharing(arguments framework.Arguments) error {
	var ways []string
	for _, way := range []string{deviceshare.GPUSharingPredicate, deviceshare.GPUNumberPredicate, deviceshare.VGPUEnable} {
		if on, _ := arguments[way].(bool); on {
			ways = append(ways, way)
		}
	}
	if len(ways) > 1 {
		return fmt.Errorf("only one of the arguments %v may be true", ways)
	}
	return nil
}
