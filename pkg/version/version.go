// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Release builds set these with -ldflags '-X github.com/devicequota/devicequota/pkg/version.version=v1.2.3'.
var (
	version string
	commit  string
	date    string
)

const unknown = "unknown"

// Info describes the build of a program.
type Info struct {
	// Version is the version of devicequota, such as v0.1.0. It is "(devel)" if Go knows none.
	Version string
	// Commit is the Git commit, with the suffix "-dirty" if files were changed, or "unknown".
	Commit string
	// Date is the date of the commit in RFC 3339, or "unknown". It is not the time of the build, to make builds reproducible.
	Date string
	// Volcano is the version of Volcano's scheduler that the program contains, or empty if it contains none.
	Volcano string
	// Kubernetes is the version of the Kubernetes libraries that the program contains, or empty if it contains none.
	Kubernetes string
	// Go is the version of the Go toolchain.
	Go string
	// Platform is the operating system and the architecture, such as linux/amd64.
	Platform string
}

// Get returns the build information of the running program.
func Get() Info {
	build, known := debug.ReadBuildInfo()
	if !known {
		build = &debug.BuildInfo{}
	}
	return read(build)
}

// read prefers the linker's values to Go's build information.
func read(build *debug.BuildInfo) Info {
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "-dirty"
	}
	return Info{
		Version:    first(version, build.Main.Version, "(devel)"),
		Commit:     first(commit, revision, unknown),
		Date:       first(date, settings["vcs.time"], unknown),
		Volcano:    dependency(build, "volcano.sh/volcano"),
		Kubernetes: kubernetes(build),
		Go:         runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// kubernetes returns the version of Kubernetes. Programs without its scheduler have only its libraries, with v0.34.1 for v1.34.1.
func kubernetes(build *debug.BuildInfo) string {
	if v := dependency(build, "k8s.io/kubernetes"); v != "" {
		return v
	}
	if minor, found := strings.CutPrefix(dependency(build, "k8s.io/client-go"), "v0."); found {
		return "v1." + minor
	}
	return ""
}

// dependency returns the version of a module that the program contains, or "".
func dependency(build *debug.BuildInfo, path string) string {
	for _, module := range build.Deps {
		if module.Path != path {
			continue
		}
		if module.Replace != nil {
			return module.Replace.Version
		}
		return module.Version
	}
	return ""
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// String returns the text for --version: the version, and one line for each other field.
func (i Info) String() string {
	lines := []string{"devicequota " + i.Version}
	for _, fact := range []struct{ name, value string }{
		{"commit", i.Commit}, {"date", i.Date}, {"Volcano", i.Volcano}, {"Kubernetes", i.Kubernetes}, {"Go", i.Go}, {"platform", i.Platform},
	} {
		if fact.value != "" {
			lines = append(lines, fmt.Sprintf("  %-11s %s", fact.name+":", fact.value))
		}
	}
	return strings.Join(lines, "\n")
}
