// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// completionTimeout limits how long a shell waits for names.
const completionTimeout = 5 * time.Second

// First completes the first argument only.
func First(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
}

// Complete completes names that the scheduler knows. It offers nothing if the scheduler does not answer.
func Complete(o *Options, names func(context.Context, *client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		scheduler, err := o.Client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := names(ctx, scheduler)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.Sort(all)
		return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return !strings.HasPrefix(name, toComplete) }),
			cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteQueues completes the names of queues.
func CompleteQueues(o *Options) cobra.CompletionFunc {
	return completeOf(o, func(queue *v1alpha1.Queue) []string { return []string{queue.Name} })
}

// CompleteDimensions completes the names of DeviceClasses, cards, and resources.
func CompleteDimensions(o *Options) cobra.CompletionFunc {
	return completeOf(o, func(queue *v1alpha1.Queue) (names []string) {
		for _, f := range queue.Figures {
			names = append(names, f.Name)
		}
		return names
	})
}

// completeOf completes the names that a function finds in a queue.
func completeOf(o *Options, names func(*v1alpha1.Queue) []string) cobra.CompletionFunc {
	return Complete(o, func(ctx context.Context, scheduler *client.Client) ([]string, error) {
		queues, err := scheduler.Queues(ctx)
		if err != nil {
			return nil, err
		}
		var all []string
		for i := range queues.Items {
			all = append(all, names(&queues.Items[i])...)
		}
		return all, nil
	})
}

// CompleteFlags sets the completion of flags, by their names. It panics if the command lacks one of the flags.
func CompleteFlags(cmd *cobra.Command, flags map[string]cobra.CompletionFunc) {
	for flag, complete := range flags {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err)
		}
	}
}
