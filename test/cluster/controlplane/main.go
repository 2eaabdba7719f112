// Command controlplane is every component of a Kubernetes and Volcano control plane in one
// binary: its first argument names the component to be, the others are that component's
// own. Two are helpers: guard runs another program and ends it with its parent, janitor
// tidies up when the parent is gone.
//
// A component ends when its standard input does, so that nothing outlives the process that
// holds the other end of the pipe, however that process ends.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

var components = map[string]func(args []string) error{
	"etcd":                    runEtcd,
	"guard":                   runGuard,
	"janitor":                 runJanitor,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"vc-controller-manager":   runVolcanoControllers,
	"vc-scheduler":            runVolcanoScheduler,
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [FLAG ...], where COMPONENT is one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	component, args := os.Args[1], os.Args[2:]
	os.Args = append([]string{component}, args...)
	if component != "guard" && component != "janitor" {
		go func() {
			waitForParent()
			os.Exit(0)
		}()
	}
	if err := components[component](args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", component, err)
		os.Exit(1)
	}
}

// waitForParent returns when the parent has closed its end of the standard input.
func waitForParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}
