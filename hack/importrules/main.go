// Command importrules checks that dependencies between the packages of this module point
// one way only. Every package must stand in a room; a room says which packages of the
// module it may reach, directly or not, and which others it must not.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const module = "github.com/devicequota/devicequota"

// room is a folder and all below it that no other room has.
type room struct {
	folder string
	// reaches lists the folders of this module that the room may depend on, besides itself.
	// A single * is all of them.
	reaches []string
	// shuns lists packages of other modules that the room must not depend on, with all below
	// them. A single * is everything but the standard library.
	shuns []string
}

var rooms = []room{
	{folder: "apis"},
	{folder: "config"},
	{folder: "pkg/client", reaches: []string{"apis"}},
	{folder: "pkg/ledger", shuns: []string{"*"}},
	{folder: "pkg/card", shuns: []string{"volcano.sh", "k8s.io/client-go"}},
	{folder: "pkg/quota", reaches: []string{"apis", "pkg/card", "pkg/ledger"}, shuns: []string{"volcano.sh/volcano"}},
	{folder: "pkg/dra", reaches: []string{"pkg/card"}, shuns: []string{"volcano.sh/volcano", "volcano.sh/apis"}},
	{folder: "pkg/allocation", reaches: []string{"pkg/card", "pkg/dra"}, shuns: []string{"volcano.sh/volcano", "volcano.sh/apis"}},
	{folder: "pkg/demand", reaches: []string{"pkg/card", "pkg/dra", "pkg/ledger"}, shuns: []string{"volcano.sh/volcano"}},
	{folder: "pkg/plugins/capacity", reaches: []string{"apis", "pkg/client", "pkg/card", "pkg/ledger", "pkg/quota", "pkg/dra", "pkg/demand", "pkg/allocation"}},
	{folder: "pkg/plugins/crossquota"},
	{folder: "cmd", reaches: []string{"*"}},
	{folder: "hack"},
	{folder: "test/cluster", reaches: []string{"config"}, shuns: []string{"volcano.sh/volcano", "k8s.io/kubernetes"}},
	{folder: "test/e2e", reaches: []string{"*"}},
	{folder: "test/upstream"},
	{folder: "test/benchmark", reaches: []string{"pkg/plugins/capacity"}},
}

// listed is a package as go list describes it.
type listed struct {
	path string
	deps []string
}

func main() {
	packages, err := list()
	if err != nil {
		fmt.Fprintf(os.Stderr, "importrules: %v\n", err)
		os.Exit(1)
	}
	violations := check(packages)
	for _, violation := range violations {
		fmt.Fprintln(os.Stderr, violation)
	}
	if len(violations) > 0 {
		os.Exit(1)
	}
}

func list() ([]listed, error) {
	command := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		packages = append(packages, listed{path: fields[0], deps: fields[1:]})
	}
	return packages, nil
}

func check(packages []listed) []string {
	var violations []string
	for _, p := range packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/")
		for _, name := range []string{"util", "utils", "common", "helpers"} {
			if strings.HasPrefix(folder, "pkg/client") {
				break // generated
			}
			if folder == name || strings.HasSuffix(folder, "/"+name) {
				violations = append(violations, fmt.Sprintf("%s: a package named %s owns nothing: name it by what it is about", p.path, name))
			}
		}
		r, found := roomOf(folder)
		if !found {
			violations = append(violations, fmt.Sprintf("%s stands in no room: add it to hack/importrules", p.path))
			continue
		}
		for _, dep := range p.deps {
			if !r.mayReach(dep) {
				violations = append(violations, fmt.Sprintf("%s must not depend on %s", p.path, dep))
			}
		}
	}
	return violations
}

// roomOf returns the innermost room of a folder.
func roomOf(folder string) (room, bool) {
	var best room
	for _, r := range rooms {
		if within(folder, r.folder) && len(r.folder) > len(best.folder) {
			best = r
		}
	}
	return best, best.folder != ""
}

func (r room) mayReach(dep string) bool {
	if within(dep, module) {
		folder := strings.TrimPrefix(dep, module+"/")
		if within(folder, "cmd") {
			return false
		}
		for _, reached := range append(r.reaches, r.folder) {
			if reached == "*" || within(folder, reached) {
				return true
			}
		}
		return false
	}
	for _, shunned := range r.shuns {
		if within(dep, shunned) || shunned == "*" && !standard(dep) {
			return false
		}
	}
	return true
}

// within reports whether a path is the folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// standard reports whether a package is of the standard library: its path does not begin
// with a domain. What the standard library brings along itself is below vendor.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
