// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/devicequota/devicequota/pkg/lint"
)

// readCluster reads all objects that the rules need, with workloads in one namespace or in all. It reports which kinds the user may not read.
func (c *command) readCluster(ctx context.Context, namespace string, documents []*document) (*cluster, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // one list for each kind is not a flood
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	namespaces := []string{namespace}
	for _, d := range documents {
		if d.ref.Namespace != "" && !slices.Contains(namespaces, d.ref.Namespace) {
			namespaces = append(namespaces, d.ref.Namespace)
		}
	}
	if c.allNamespaces {
		namespaces = []string{metav1.NamespaceAll}
	}
	read := &cluster{known: map[string]bool{}}
	asked, unread := 0, 0
	for i := range kinds {
		kind, in := &kinds[i], []string{metav1.NamespaceAll}
		if kind.Kind == "ConfigMap" {
			continue
		}
		asked++
		if kind.namespaced {
			in = namespaces
		}
		err := read.listAll(ctx, client, kind, in)
		if err != nil && !cannotRead(err) {
			return nil, fmt.Errorf("list %s: %w", kind.groupResource(), err)
		}
		if err != nil {
			unread++
			c.partly = c.partly || apierrors.IsForbidden(err) // a kind that the cluster does not know has no objects
			c.say("Cannot read %s, so that rules that need them are skipped: %v", kind.groupResource(), err)
		}
		before, other := read.known[kind.Kind] // Jobs of another group
		read.known[kind.Kind] = err == nil && (before || !other)
	}
	if unread == asked {
		return nil, errors.New("nothing in the cluster can be read: ask an administrator for the verb list on the resources above")
	}
	c.readConfiguration(ctx, read)
	return read, nil
}

// readConfiguration asks the scheduler for its configuration.
func (c *command) readConfiguration(ctx context.Context, read *cluster) {
	text, err := c.SchedulerConfiguration(ctx)
	if err != nil {
		c.say("Cannot read the scheduler's configuration: %v; rules that need it are skipped", err)
		c.partly = true
		return
	}
	ref := lint.Ref{Kind: "SchedulerConfiguration", Name: "scheduler"}
	read.objects = append(read.objects, located{ref: ref, configuration: &lint.Configuration{Object: ref, Text: text}})
}

// cannotRead reports whether an error affects only one kind: the user may not read objects of this kind, or the cluster does not know the kind.
func cannotRead(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// listAll lists the objects of a kind in some namespaces. If one namespace fails, it goes on with the others.
func (r *cluster) listAll(ctx context.Context, client dynamic.Interface, kind *kind, namespaces []string) (first error) {
	for _, namespace := range namespaces {
		first = cmp.Or(first, r.list(ctx, client, kind, namespace))
	}
	return first
}

// list reads the objects of a kind in a namespace.
func (r *cluster) list(ctx context.Context, client dynamic.Interface, kind *kind, namespace string) error {
	resource := client.Resource(kind.GroupVersion().WithResource(kind.resource))
	items, err := resource.Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range items.Items {
		object := kind.empty()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items.Items[i].Object, object); err != nil {
			return err
		}
		o := located{ref: lint.Ref{Kind: kind.Kind, Namespace: items.Items[i].GetNamespace(), Name: items.Items[i].GetName()}, object: object}
		r.objects = append(r.objects, o)
	}
	return nil
}
