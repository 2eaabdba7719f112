// SPDX-License-Identifier: Apache-2.0

// Command controlplane has all components of a Kubernetes and Volcano control plane in one binary. The first argument is the name of the
// component, and the others are the component's arguments. Three components are helpers. Guard runs another program that ends with guard's
// parent. Janitor removes the state folder after its parent has ended. Kubectl is for tests of commands in the documentation.
//
// A component ends when its standard input is closed, so it never outlives the process at the other end of the pipe. Helpers end by
// themselves.
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
	"kube-scheduler":          runScheduler,
	"kubectl":                 runKubectl,
	"vc-controller-manager":   runVolcanoControllers,
	"vc-scheduler":            runVolcanoScheduler,
}

var helpers = []string{"guard", "janitor", "kubectl"}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [FLAG ...], where COMPONENT is one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	component, args := os.Args[1], os.Args[2:]
	os.Args = append([]string{component}, args...)
	if !slices.Contains(helpers, component) {
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

// waitForParent returns when the parent ends or closes its end of the standard input.
func waitForParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}
