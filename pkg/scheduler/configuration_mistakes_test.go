// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/conf"
)

func TestArgumentsThatEndUpstreamsProcessAreNamed(t *testing.T) {
	for _, c := range []struct {
		name, plugin string
		arguments    map[string]any
		want         string
	}{
		{"numbers and lists are read", "predicates", map[string]any{
			"volumebinding.weight": 2, "volumebinding.bindTimeoutSeconds": 600, "volumebinding.shape": []any{map[any]any{"utilization": 0, "score": 10}},
		}, ""},
		{"text is no number", "predicates", map[string]any{"volumebinding.weight": "heavy"}, "plugin predicates: argument volumebinding.weight: "},
		{"a time is not negative", "predicates", map[string]any{"volumebinding.bindTimeoutSeconds": -1}, "-1 is negative"},
		{"another plugin may have an argument with this name", "gang", map[string]any{"volumebinding.weight": "heavy"}, ""},
		{"a number is no list", "extender", map[string]any{"extender.managedResources": 7}, "extender.managedResources"},
		{"nested arguments are read", "resource-strategy-fit", map[string]any{
			"resourceStrategyFitWeight": 10, "resources": map[any]any{"cpu": map[any]any{"type": "MostAllocated", "weight": 1}},
			"proportional": map[any]any{"enable": true, "resourceProportion": map[any]any{"nvidia.com/gpu.cpu": 4}},
			"sra":          map[any]any{"enable": true, "resourceWeight": map[any]any{"nvidia.com/gpu": 1}},
		}, ""},
		{"nested arguments have types, too", "resource-strategy-fit", map[string]any{"sra": map[any]any{"weight": "heavy"}}, "argument sra"},
		{"GPUs are shared in one way", "deviceshare", map[string]any{"deviceshare.GPUSharingEnable": true, "deviceshare.GPUNumberEnable": true}, "only one of"},
		{"a way that is off is none", "deviceshare", map[string]any{"deviceshare.GPUSharingEnable": true, "deviceshare.VGPUEnable": false}, ""},
	} {
		configured := configuration{tiers: []conf.Tier{{Plugins: []conf.PluginOption{{Name: c.plugin, Arguments: c.arguments}}}}}
		if err := configured.fatal(); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestEveryArgumentThatEndsUpstreamsProcessIsKnown fails if another version of Volcano has other arguments.
func TestEveryArgumentThatEndsUpstreamsProcessIsKnown(t *testing.T) {
	folder, err := build.Import("volcano.sh/volcano/pkg/scheduler/plugins", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	err = filepath.WalkDir(folder.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if generic, is := node.(*ast.IndexExpr); is {
				if called, is := generic.X.(*ast.SelectorExpr); is && called.Sel.Name == "Get" {
					if from, is := called.X.(*ast.Ident); is && from.Name == "framework" {
						got[filepath.Base(filepath.Dir(path))]++
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for plugin, arguments := range fatalArguments {
		if got[plugin] != len(arguments) {
			t.Errorf("plugin %s reads %d arguments with framework.Get, and %d are checked before", plugin, got[plugin], len(arguments))
		}
		delete(got, plugin)
	}
	var others []string
	for plugin := range got {
		others = append(others, plugin)
	}
	if slices.Sort(others); len(others) > 0 {
		t.Errorf("the plugins %v read arguments with framework.Get, and nothing is checked before", others)
	}
}
