// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Config is the content of the dispatcher's configuration file.
type Config struct {
	// DefaultQueue is the queue of workloads that are managed and name no queue. It is "default" if it is empty.
	DefaultQueue string `json:"defaultQueue,omitempty"`
	// ManageWorkloadsWithoutQueue manages workloads that name no queue and are not meant for Volcano, too.
	ManageWorkloadsWithoutQueue bool `json:"manageWorkloadsWithoutQueue,omitempty"`
	// SchedulerNames are the schedulers whose pods are managed even if they name no queue. It is ["volcano"] if it is
	// empty.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// UnschedulableTimeout is how long a workload may hold what it was granted without a cluster that accepts it. Unset
	// means ten minutes.
	UnschedulableTimeout metav1.Duration `json:"unschedulableTimeout,omitempty"`
	// RequeueBackoff is how long a workload waits after its first grant in vain. The time doubles with each further one,
	// up to RequeueBackoffLimit. Unset means one minute and one hour.
	RequeueBackoff      metav1.Duration `json:"requeueBackoff,omitempty"`
	RequeueBackoffLimit metav1.Duration `json:"requeueBackoffLimit,omitempty"`
	// Tiers has the plugins. The first tier that has an opinion decides on an order; each plugin may refuse.
	Tiers []Tier `json:"tiers"`
}

// Tier is a list of plugins of equal rank.
type Tier struct {
	Plugins []PluginConfig `json:"plugins"`
}

// PluginConfig names a plugin.
type PluginConfig struct {
	Name      string    `json:"name"`
	Arguments Arguments `json:"arguments,omitempty"`
}

// Arguments are the arguments of a plugin, as written in the configuration.
type Arguments map[string]any

// Bool returns a boolean argument, or the default if it is not given.
func (a Arguments) Bool(name string, byDefault bool) (bool, error) {
	value, given := a[name]
	if !given {
		return byDefault, nil
	}
	b, ok := value.(bool)
	if !ok {
		return byDefault, fmt.Errorf("argument %s is %v: it must be true or false", name, value)
	}
	return b, nil
}

// Known returns an error if an argument is not in names.
func (a Arguments) Known(names ...string) error {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	var errs []error
	for name := range a {
		if !known[name] {
			errs = append(errs, fmt.Errorf("there is no argument %s: the arguments are %q", name, names))
		}
	}
	return errors.Join(errs...)
}

// ParseConfig reads a configuration file. The error names every unknown or invalid field, plugin, and argument.
func ParseConfig(text []byte) (*Config, error) {
	c := &Config{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, err
	}
	c.setDefaults()
	return c, c.check()
}

func (c *Config) setDefaults() {
	if c.DefaultQueue == "" {
		c.DefaultQueue = "default"
	}
	if len(c.SchedulerNames) == 0 {
		c.SchedulerNames = []string{"volcano"}
	}
	for _, d := range []struct {
		field     *metav1.Duration
		byDefault time.Duration
	}{
		{&c.UnschedulableTimeout, 10 * time.Minute}, {&c.RequeueBackoff, time.Minute}, {&c.RequeueBackoffLimit, time.Hour},
	} {
		if d.field.Duration == 0 {
			d.field.Duration = d.byDefault
		}
	}
}

func (c *Config) check() error {
	var errs []error
	for name, d := range map[string]metav1.Duration{
		"unschedulableTimeout": c.UnschedulableTimeout, "requeueBackoff": c.RequeueBackoff, "requeueBackoffLimit": c.RequeueBackoffLimit,
	} {
		if d.Duration < 0 {
			errs = append(errs, fmt.Errorf("%s is %s: it must be more than zero", name, d.Duration))
		}
	}
	seen := map[string]bool{}
	for _, tier := range c.Tiers {
		for _, p := range tier.Plugins {
			r, err := registered(p.Name)
			if err == nil && seen[p.Name] {
				err = errors.New("it is listed twice")
			}
			if err == nil {
				err = r.Check(p.Arguments)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("plugin %s: %w", p.Name, err))
			}
			seen[p.Name] = true
		}
	}
	if len(seen) == 0 {
		errs = append(errs, errors.New("tiers lists no plugin: without the plugin capacity, everything is released at once"))
	}
	return errors.Join(errs...)
}

// Plugin returns the arguments of a plugin, and whether the configuration lists the plugin.
func (c *Config) Plugin(name string) (Arguments, bool) {
	for _, tier := range c.Tiers {
		for _, p := range tier.Plugins {
			if p.Name == name {
				return p.Arguments, true
			}
		}
	}
	return nil, false
}
