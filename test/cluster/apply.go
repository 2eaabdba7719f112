// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// applier applies manifests with server-side apply.
type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(config *rest.Config, client dynamic.Interface) (*applier, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))}, nil
}

// apply applies the manifests, each after those it depends on. It returns when the API server serves the CRDs among them. It also writes the
// status of nodes. Controllers write the status of other kinds.
func (c *controlPlane) apply(ctx context.Context, manifests []manifest) error {
	crds, others := separateCRDs(sortManifests(manifests))
	if err := c.applier.apply(ctx, crds); err != nil {
		return err
	}
	if err := c.waitForCRDs(ctx, crds); err != nil {
		return err
	}
	return c.applier.apply(ctx, others)
}

func (a *applier) apply(ctx context.Context, manifests []manifest) error {
	for _, m := range manifests {
		if err := a.applyOne(ctx, m); err != nil {
			return fmt.Errorf("%s: %s %s: %w", m.source, m.object.GetKind(), m.object.GetName(), err)
		}
	}
	return nil
}

func (a *applier) applyOne(ctx context.Context, m manifest) error {
	kind := m.object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := m.object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		client = a.client.Resource(mapping.Resource).Namespace(namespace)
	}
	options := metav1.ApplyOptions{FieldManager: "devcluster", Force: true}
	if _, err := client.Apply(ctx, m.object.GetName(), m.object, options); err != nil {
		return err
	}
	if _, found := m.object.Object["status"]; found && kind.Kind == "Node" {
		_, err = client.ApplyStatus(ctx, m.object.GetName(), m.object, options)
	}
	return err
}
