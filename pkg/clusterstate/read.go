// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// page is the number of objects in one request.
const page = 500

// resources are the resources that the scheduler reads.
var resources = slices.Concat(
	from("", "v1", "nodes", "namespaces", "pods", "persistentvolumes", "persistentvolumeclaims", "resourcequotas", "services"),
	from("apps", "v1", "replicasets", "statefulsets"),
	from("policy", "v1", "poddisruptionbudgets"),
	from("storage.k8s.io", "v1", "storageclasses", "csinodes"),
	from("scheduling.k8s.io", "v1", "priorityclasses"),
	from("resource.k8s.io", "v1", "deviceclasses", "resourceslices", "resourceclaims", "resourceclaimtemplates"),
	from("scheduling.volcano.sh", "v1beta1", "queues", "podgroups"),
	from("batch.volcano.sh", "v1alpha1", "jobs"),
	from("resource.k8s.io", "v1alpha3", "devicetaintrules"),
	from("topology.volcano.sh", "v1alpha1", "hypernodes"),
	from("nodeinfo.volcano.sh", "v1alpha1", "numatopologies"),
)

// optional are the resources that some clusters do not serve.
var optional = []string{"devicetaintrules", "hypernodes", "numatopologies"}

func from(group, version string, names ...string) []schema.GroupVersionResource {
	all := make([]schema.GroupVersionResource, len(names))
	for i, name := range names {
		all[i] = schema.GroupVersionResource{Group: group, Version: version, Resource: name}
	}
	return all
}

// Read reads the state of a cluster, and writes nothing. Unread has the resources that could not be read. The caller sets the scheduler's
// configuration.
func Read(ctx context.Context, config *rest.Config) (*State, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	s := &State{APIVersion: APIVersion, Kind: Kind, Time: metav1.Now(), Kubernetes: version.GitVersion}
	objects := &reader{client: client}
	for _, r := range resources {
		items, err := objects.list(ctx, r)
		switch {
		case apierrors.IsNotFound(err) && slices.Contains(optional, r.Resource):
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			s.Unread = append(s.Unread, fmt.Sprintf("%s: %v", r.GroupResource(), err))
		}
		s.Items = append(s.Items, items...)
	}
	return s, nil
}

// reader lists the objects of a cluster at one time, so references between them are consistent.
type reader struct {
	client dynamic.Interface
	// at is the resource version of the first list.
	at string
}

// list returns the objects of a resource. If the API server no longer has the resource version, or stores these objects elsewhere, list returns the
// present objects.
func (r *reader) list(ctx context.Context, resource schema.GroupVersionResource) ([]Object, error) {
	options := metav1.ListOptions{Limit: page}
	if r.at == "" {
		return r.pages(ctx, resource, options)
	}
	then := options
	then.ResourceVersion, then.ResourceVersionMatch = r.at, metav1.ResourceVersionMatchExact
	all, err := r.pages(ctx, resource, then)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || ctx.Err() != nil {
		return all, err
	}
	return r.pages(ctx, resource, options)
}

// pages reads page after page. If the API server drops the remaining pages meanwhile, it reads all objects at once.
func (r *reader) pages(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) ([]Object, error) {
	var all []Object
	for {
		some, err := r.client.Resource(resource).List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			all, options = nil, metav1.ListOptions{}
			continue
		}
		if err != nil {
			return nil, err
		}
		if r.at == "" {
			r.at = some.GetResourceVersion()
		}
		for i := range some.Items {
			strip(&some.Items[i])
		}
		all = append(all, some.Items...)
		if options.Continue = some.GetContinue(); options.Continue == "" {
			return all, nil
		}
		options.ResourceVersion, options.ResourceVersionMatch = "", "" // the token includes them
	}
}
