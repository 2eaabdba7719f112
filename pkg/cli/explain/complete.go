// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// completed are the kinds that completion offers.
var completed = []string{"job", "pod", "podgroup"}

// complete completes kinds, and names in both forms: pod NAME and pod/NAME.
func complete(o *cli.Options) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		kind, _, slash := strings.Cut(toComplete, "/")
		switch {
		case len(args) == 0 && !slash:
			return slices.DeleteFunc(slices.Clone(completed), func(kind string) bool { return !strings.HasPrefix(kind, toComplete) }),
				cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return names(o, resources[strings.ToLower(kind)], kind+"/")(cmd, args, toComplete)
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return names(o, resources[strings.ToLower(args[0])], "")(cmd, args, toComplete)
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// names completes the names of objects in the namespace of the command. It lists pods from the API server, which knows pods that the scheduler does
// not count.
func names(o *cli.Options, resource, prefix string) cobra.CompletionFunc {
	return cli.Complete(o, func(ctx context.Context, scheduler *client.Client) ([]string, error) {
		namespace, _, err := o.Namespace()
		if err != nil {
			return nil, err
		}
		var found []string
		switch resource {
		case "pods":
			found, err = pods(ctx, o, namespace)
		case "podgroups", "jobs":
			found, err = workloads(ctx, scheduler, namespace, resource)
		}
		for i := range found {
			found[i] = prefix + found[i]
		}
		return found, err
	})
}

func pods(ctx context.Context, o *cli.Options, namespace string) ([]string, error) {
	config, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	api, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := api.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := make([]string, len(list.Items))
	for i := range list.Items {
		found[i] = list.Items[i].Name
	}
	return found, nil
}

func workloads(ctx context.Context, scheduler *client.Client, namespace, resource string) ([]string, error) {
	list, err := scheduler.Workloads(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range list.Items {
		switch w := &list.Items[i]; {
		case resource == "podgroups" && w.Name != "":
			found = append(found, w.Name)
		case resource != "podgroups" && w.Owner != nil && w.Owner.Kind == "Job":
			found = append(found, w.Owner.Name)
		}
	}
	return found, nil
}
