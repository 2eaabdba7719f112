// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestThePluginsThatReclaimAsksAreUpstreams fails if a new version of Volcano has other plugins.
func TestThePluginsThatReclaimAsksAreUpstreams(t *testing.T) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{"AddReclaimableFn(": nil, "AddJobStarvingFns(": nil}
	files := os.DirFS(path.Join(strings.TrimSpace(string(module)), "pkg/scheduler/plugins"))
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		for call := range found {
			if plugin := path.Dir(name); bytes.Contains(text, []byte(call)) && plugin != "capacity" {
				found[call] = append(found[call], plugin)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, plugin := range found["AddReclaimableFn("] {
		if p := (Plugin{Name: plugin, Reclaimable: true, Hierarchy: true, ReclaimableVerb: "reclaimable"}); p.namesVictims() {
			names = append(names, plugin)
		}
	}
	if want := append(slices.Clone(victimPlugins), "drf", "extender"); len(names) != len(want) || len(found["AddReclaimableFn("]) != len(want) {
		t.Errorf("upstream's plugins %q name victims, and this package knows of %q", found["AddReclaimableFn("], want)
	}
	if got := found["AddJobStarvingFns("]; !slices.Equal(got, starvingPlugins) {
		t.Errorf("upstream's plugins %q find starving jobs, and this package knows of %q", got, starvingPlugins)
	}
}
