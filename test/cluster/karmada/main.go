// SPDX-License-Identifier: Apache-2.0

// Command karmada has the components of a Karmada control plane that the tests need, in one binary. The first argument is the name of the
// component, and the others are the component's arguments.
//
// A component ends when its standard input is closed, so it never outlives the process at the other end of the pipe.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	controllermanager "github.com/karmada-io/karmada/cmd/controller-manager/app"
	scheduler "github.com/karmada-io/karmada/cmd/scheduler/app"
	webhook "github.com/karmada-io/karmada/cmd/webhook/app"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
)

var components = map[string]func(context.Context) *cobra.Command{
	"karmada-controller-manager": controllermanager.NewControllerManagerCommand,
	"karmada-scheduler":          func(ctx context.Context) *cobra.Command { return scheduler.NewSchedulerCommand(ctx) },
	"karmada-webhook":            webhook.NewWebhookCommand,
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "usage: karmada COMPONENT [FLAG ...], where COMPONENT is one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	os.Exit(cli.Run(components[os.Args[0]](context.Background())))
}
