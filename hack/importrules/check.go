// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

const module = "github.com/devicequota/devicequota"

// check returns a line for each violation.
func check(packages []listed) []string {
	var violations []string
	for _, p := range packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/")
		if name, empty := emptyName(folder); empty {
			violations = append(violations, fmt.Sprintf("%s: a package named %s owns nothing: name it by what it is about", p.path, name))
		}
		r, found := roomOf(folder)
		if !found {
			violations = append(violations, fmt.Sprintf("%s is in no room: add it to hack/importrules", p.path))
			continue
		}
		for _, dep := range p.deps {
			if !r.mayReach(dep) {
				violations = append(violations, fmt.Sprintf("%s must not depend on %s", p.path, dep))
			}
		}
		for _, imported := range p.imports {
			if withinAny(imported, r.shunsImports) {
				violations = append(violations, fmt.Sprintf("%s must not import %s", p.path, imported))
			}
		}
	}
	return violations
}

// emptyName returns the name of a package that says nothing about its content. Generated packages are
// exempt.
func emptyName(folder string) (string, bool) {
	name := folder[strings.LastIndex(folder, "/")+1:]
	return name, slices.Contains([]string{"util", "utils", "common", "helpers"}, name) && !within(folder, "pkg/client")
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

// mayReach reports whether packages of the room may depend on a package.
func (r room) mayReach(dep string) bool {
	if !within(dep, module) {
		return !withinAny(dep, r.shuns) && (standard(dep) || !slices.Contains(r.shuns, "*"))
	}
	folder := strings.TrimPrefix(dep, module+"/")
	if within(folder, "cmd") || withinAny(folder, r.avoids) {
		return false
	}
	if other, found := roomOf(folder); found && other.folder == r.folder {
		return true
	}
	return slices.Contains(r.reaches, "*") || withinAny(folder, r.reaches)
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func withinAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
}

// standard reports whether a package belongs to the standard library: the first element of its path is
// not a domain. Packages that the standard library vendors are below vendor.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
