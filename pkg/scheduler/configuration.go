// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"volcano.sh/volcano/pkg/filewatcher"
	upstream "volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/settings"
)

// configuration is a parsed configuration file of the scheduler.
type configuration struct {
	// text is the text of the file.
	text           string
	actions        []framework.Action
	tiers          []conf.Tier
	configurations []conf.Configuration
	metrics        map[string]string
}

// parse returns an error if upstream's scheduler could not run with the configuration.
func parse(text string) (*configuration, error) {
	c := configuration{text: text}
	var err error
	if c.actions, c.tiers, c.configurations, c.metrics, err = upstream.UnmarshalSchedulerConf(text); err != nil {
		return nil, err
	}
	return &c, c.fatal()
}

// capacity returns the settings of the plugin capacity. If there is no such plugin, it returns the defaults, and false.
func (c *configuration) capacity() (settings.Settings, bool) {
	for _, tier := range c.tiers {
		for _, plugin := range tier.Plugins {
			if plugin.Name == settings.Name || plugin.Name == settings.CardName {
				given, _ := settings.Read(plugin.Name, plugin.Arguments)
				return given, true
			}
		}
	}
	given, _ := settings.Read(settings.Name, nil)
	return given, false
}

// configurationFile keeps the configuration up to date with its file.
type configurationFile struct {
	// text is the configuration itself. If it is not empty, there is no file.
	text string
	// path is empty if there is no file.
	path string
	// required prevents the scheduler from starting without a valid file.
	required bool
	// changes is nil if there is no file.
	changes filewatcher.FileWatcher

	mu sync.Mutex
	// current is the last valid configuration. It is nil before load.
	current *configuration
}

// newConfigurationFile starts to watch the folder of a file, because Kubernetes replaces the files of a ConfigMap as a whole.
func newConfigurationFile(path string, required bool) (*configurationFile, error) {
	f := &configurationFile{path: path, required: required}
	if path == "" {
		return f, nil
	}
	changes, err := filewatcher.NewFileWatcher(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("watch the folder of the configuration %s: %w", path, err)
	}
	f.changes = changes
	return f, nil
}

// get returns the last valid configuration. The caller must not change it.
func (f *configurationFile) get() *configuration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// inForce returns the text of the last valid configuration, without the section metrics, which may have a password. It is empty before load.
func (f *configurationFile) inForce() string {
	current := f.get()
	if current == nil {
		return ""
	}
	if len(current.metrics) == 0 {
		return current.text
	}
	var sections map[string]any
	if err := yaml.Unmarshal([]byte(current.text), &sections); err != nil {
		return ""
	}
	delete(sections, "metrics")
	text, err := yaml.Marshal(sections)
	if err != nil {
		return ""
	}
	return string(text)
}

// load reads the file. If it has a mistake, the last valid configuration stays active. At the start of the scheduler, there is none. Then load uses a
// configuration that upstream would use in part, or the default. If the file is required, load returns an error in place of the default.
func (f *configurationFile) load() error {
	next, err := f.read()
	switch previous := f.get(); {
	case err == nil:
	case previous != nil:
		klog.ErrorS(err, "The configuration has a mistake, and the last valid one stays in force", "file", f.path)
		next = previous
	case next != nil:
		klog.ErrorS(err, "The configuration has a mistake, and is in force without it", "file", f.path)
	case f.required:
		return fmt.Errorf("the configuration %s cannot be used, and --disable-default-scheduler-config disables the default: %w", f.path, err)
	default:
		klog.ErrorS(err, "The configuration cannot be used, and the default is in force", "file", f.path)
		var invalid error
		if next, invalid = parse(upstream.DefaultSchedulerConf); invalid != nil {
			return fmt.Errorf("the default configuration: %w", invalid)
		}
	}
	f.mu.Lock()
	f.current = next
	f.mu.Unlock()
	publishConfiguration(err == nil)
	klog.V(2).InfoS("The configuration is in force", "file", f.path, "actions", next.actionNames(), "plugins", next.pluginNames())
	return nil
}

// read returns an error and a configuration if upstream would use the configuration despite the error.
func (f *configurationFile) read() (*configuration, error) {
	text := f.text
	switch {
	case text != "":
		return parseForReplay(text)
	case f.path != "":
		data, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		text = string(data)
	case f.required:
		return nil, errors.New("--scheduler-conf is empty")
	default:
		text = upstream.DefaultSchedulerConf
	}
	c, err := parse(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	return c, c.leftOut()
}

// watch loads the file after each change, until ctx ends.
func (f *configurationFile) watch(ctx context.Context, useMetrics func(map[string]string)) {
	if f.changes == nil {
		return
	}
	defer f.changes.Close()
	for {
		select {
		case event, open := <-f.changes.Events():
			if !open {
				return
			}
			if event.Op == fsnotify.Chmod {
				continue
			}
			if err := f.load(); err != nil {
				klog.ErrorS(err, "The configuration cannot be loaded", "file", f.path)
				continue
			}
			useMetrics(f.get().metrics)
		case err, open := <-f.changes.Errors():
			if !open {
				return
			}
			klog.ErrorS(err, "Failed to watch the configuration", "file", f.path)
		case <-ctx.Done():
			return
		}
	}
}

func (c *configuration) actionNames() (names []string) {
	for _, action := range c.actions {
		names = append(names, action.Name())
	}
	return names
}

func (c *configuration) pluginNames() (names []string) {
	for _, tier := range c.tiers {
		for _, plugin := range tier.Plugins {
			names = append(names, plugin.Name)
		}
	}
	return names
}
