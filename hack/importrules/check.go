// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const module = "github.com/devicequota/devicequota/"

// generated is a folder without package comments and with generated names.
const generated = "pkg/client"

type house struct {
	layers []layer
	walls  []wall
}

// check returns a sentence for each violation.
func (h house) check(packages []listed) []string {
	var violations, rooms, full []string
	for _, p := range packages {
		room, _ := h.roomOf(p.folder)
		full = append(full, room)
		for _, wrong := range h.checkPackage(p) {
			violations = append(violations, p.folder+" "+wrong)
		}
	}
	for _, l := range h.layers {
		for _, room := range strings.Fields(l.rooms) {
			rooms = append(rooms, room)
			if !slices.Contains(full, room) {
				violations = append(violations, fmt.Sprintf("the room %s has no package: remove it from hack/importrules/layers.go", room))
			}
		}
	}
	for _, w := range h.walls {
		for _, pattern := range strings.Fields(w.rooms) {
			if !slices.ContainsFunc(rooms, wall{rooms: pattern}.around) {
				violations = append(violations, fmt.Sprintf("the wall against %s names %s, which is no room", w.shuns, pattern))
			}
		}
	}
	return violations
}

func (h house) checkPackage(p listed) []string {
	room, level := h.roomOf(p.folder)
	if room == "" {
		return []string{"is in no room: add it to hack/importrules/layers.go"}
	}
	var wrong []string
	if slices.Contains([]string{"util", "utils", "common", "helpers"}, path.Base(p.folder)) && room != generated {
		wrong = append(wrong, "owns nothing by its name: name it by what it is about")
	}
	if p.folder == room && p.doc == "" {
		wrong = append(wrong, "has no package comment, which says what it is for")
	}
	for _, imported := range p.imports {
		folder, ours := strings.CutPrefix(imported, module)
		if other, higher := h.roomOf(folder); ours && other != room && higher >= level {
			wrong = append(wrong, fmt.Sprintf("(layer %d) must not import %s (layer %d): only lower layers", level, folder, higher))
		}
	}
	for _, w := range h.walls {
		shunned := func(dep string) bool { return foreign(dep) && (w.shuns == "*" || within(dep, w.shuns)) }
		if i := slices.IndexFunc(w.reached(p), shunned); i >= 0 && w.around(room) {
			wrong = append(wrong, "must not reach "+w.reached(p)[i])
		}
	}
	return wrong
}

// roomOf returns the innermost room of a folder, and the number of its layer.
func (h house) roomOf(folder string) (string, int) {
	best, level := "", 0
	for i, l := range h.layers {
		for _, room := range strings.Fields(l.rooms) {
			if within(folder, room) && !within(folder, room+"/internal") && len(room) > len(best) {
				best, level = room, i+1
			}
		}
	}
	return best, level
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// foreign reports whether a package belongs to another module. The path of a package in the standard library does not start with a domain.
func foreign(path string) bool {
	domain, _, _ := strings.Cut(path, "/")
	return strings.Contains(domain, ".") && !strings.HasPrefix(path, module)
}
