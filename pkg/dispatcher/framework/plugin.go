// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Plugin takes part in sessions. A new one is made for each session, as in Volcano.
type Plugin interface {
	// Name is the name in the configuration.
	Name() string
	// OnSessionOpen registers the plugin's functions.
	OnSessionOpen(*Session)
	// OnSessionClose is called when all decisions have been made.
	OnSessionClose(*Session)
}

// Builder makes a plugin for a session.
type Builder func(Arguments) Plugin

// Registration is a plugin that configurations may name.
type Registration struct {
	// Check returns an error if an argument is unknown or invalid. It is called when the configuration is read.
	Check func(Arguments) error
	// New makes the plugin for a session.
	New Builder
}

var registry = struct {
	sync.RWMutex
	plugins map[string]Registration
}{plugins: map[string]Registration{}}

// Register makes a plugin known under a name. It panics if the name is taken.
func Register(name string, r Registration) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.plugins[name]; taken {
		panic(fmt.Sprintf("two plugins are registered as %q", name))
	}
	registry.plugins[name] = r
}

// registered returns a plugin by name. The error lists the registered plugins.
func registered(name string) (Registration, error) {
	registry.RLock()
	defer registry.RUnlock()
	r, known := registry.plugins[name]
	if !known {
		names := slices.Sorted(maps.Keys(registry.plugins))
		return r, fmt.Errorf("there is no plugin %q: the plugins are %s", name, strings.Join(names, ", "))
	}
	return r, nil
}
