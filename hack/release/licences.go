// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// licenceFile matches the files with the licences of modules. Most licences demand that their text accompanies the program.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([-._].*)?$`)

// licences returns the licences of Go and of the modules in a program, each text once. The modules must be in the module cache, as they are after
// the build of the program.
func licences(path string) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	folders, err := exec.Command("go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cache, root, _ := strings.Cut(strings.TrimSpace(string(folders)), "\n")
	holders := map[string][]string{}
	if err := collect(holders, "Go", root); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		folder, err := folderOfModule(cache, m)
		if err != nil {
			return nil, err
		}
		if err := collect(holders, m.Path, folder); err != nil {
			return nil, err
		}
	}
	return format(holders), nil
}

func folderOfModule(cache string, m *debug.Module) (string, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	return filepath.Join(cache, filepath.FromSlash(path)+"@"+version), err
}

// collect adds the holder to the texts in a folder. It fails for a module without a licence, to keep it out of a release.
func collect(holders map[string][]string, holder, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		holders[string(text)] = append(holders[string(text)], holder)
		found = true
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", holder, folder)
	}
	return nil
}

// format writes each text after the names of its holders, in the order of the names.
func format(holders map[string][]string) []byte {
	type entry struct{ names, text string }
	var entries []entry
	for text, names := range holders {
		slices.Sort(names)
		entries = append(entries, entry{strings.Join(slices.Compact(names), "\n"), text})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.names, b.names), strings.Compare(a.text, b.text))
	})
	var out strings.Builder
	line := strings.Repeat("-", 80)
	for _, e := range entries {
		fmt.Fprintf(&out, "%s\n%s\n%s\n\n%s\n\n", line, e.names, line, strings.TrimSpace(e.text))
	}
	return []byte(out.String())
}
