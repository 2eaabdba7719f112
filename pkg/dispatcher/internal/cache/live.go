// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// Template returns the template of a binding's object, at least as new as the version in the binding: an object is written milliseconds before its
// binding. An object with another UID is not found. An error with a template says what is wrong with the object.
func (c *Cache) Template(ctx context.Context, rb *workv1alpha2.ResourceBinding) (*workload.Template, error) {
	ref := &rb.Spec.Resource
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if c.objects.kinds[gvk] == nil {
		return c.fallback(ctx, rb, gvk)
	}
	object, _, err := c.objects.shown(ref)
	if err != nil || workload.Newer(ref.ResourceVersion, versionOf(object)) {
		if object, err = c.Object(ctx, gvk, ref.Namespace, ref.Name); err != nil {
			return nil, err
		}
	}
	if accessor, err := meta.Accessor(object); err != nil || ref.UID != "" && accessor.GetUID() != ref.UID {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name)
	}
	return workload.Of(object, c.config.SchedulerNames)
}

func versionOf(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// fallback returns Karmada's findings about an object of an unknown kind, with the queue that the object names. It returns nil if
// the object is not a workload.
func (c *Cache) fallback(ctx context.Context, rb *workv1alpha2.ResourceBinding, gvk schema.GroupVersionKind) (*workload.Template, error) {
	template := workload.OfBinding(rb)
	if template == nil {
		return nil, nil
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	object, err := c.clients.Metadata.Resource(mapping.Resource).Namespace(template.Namespace).Get(ctx, template.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	template.Queue = workload.QueueOf(object)
	return template, nil
}

// Object reads an object of one of workload.Kinds from the API server.
func (c *Cache) Object(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (runtime.Object, error) {
	k := c.objects.kinds[gvk]
	if k == nil {
		return nil, fmt.Errorf("objects of kind %s are not read", gvk)
	}
	return k.get(ctx, namespace, name)
}

// Binding reads a binding from the API server.
func (c *Cache) Binding(ctx context.Context, namespace, name string) (*workv1alpha2.ResourceBinding, error) {
	return c.clients.Karmada.WorkV1alpha2().ResourceBindings(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Latest reads a binding from the API server, nil if it does not exist any more.
func (c *Cache) Latest(ctx context.Context, rb *workv1alpha2.ResourceBinding) (*workv1alpha2.ResourceBinding, error) {
	read, err := c.clients.Karmada.WorkV1alpha2().ResourceBindings(rb.Namespace).Get(ctx, rb.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && read.UID != rb.UID:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return read, nil
}

// HasWorks asks the API server whether a binding has Works.
func (c *Cache) HasWorks(ctx context.Context, rb *workv1alpha2.ResourceBinding) (bool, error) {
	id := idOf(rb.Labels)
	if id == "" {
		return false, nil
	}
	return c.hasWorks(ctx, metav1.NamespaceAll, id)
}

func (c *Cache) hasWorks(ctx context.Context, namespace, id string) (bool, error) {
	works, err := c.clients.Karmada.WorkV1alpha1().Works(namespace).List(ctx, oneOf(id))
	if err != nil {
		return false, err
	}
	return len(works.Items) > 0, nil
}

// oneOf selects at most one object with a permanent ID.
func oneOf(id string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: workv1alpha2.ResourceBindingPermanentIDLabel + "=" + id, Limit: 1}
}

// Patch sends a merge patch for a binding. The cache shows the result at once.
func (c *Cache) Patch(ctx context.Context, rb *workv1alpha2.ResourceBinding, patch []byte) error {
	_, err := c.patch(ctx, rb, patch)
	return err
}

// DropStatus removes what clusters have reported from a version of a binding, and returns the next one.
func (c *Cache) DropStatus(ctx context.Context, rb *workv1alpha2.ResourceBinding) (*workv1alpha2.ResourceBinding, error) {
	return c.patch(ctx, rb, binding.PatchDropStatus(rb), "status")
}

func (c *Cache) patch(ctx context.Context, rb *workv1alpha2.ResourceBinding, patch []byte, subresources ...string) (*workv1alpha2.ResourceBinding, error) {
	bindings := c.clients.Karmada.WorkV1alpha2().ResourceBindings(rb.Namespace)
	written, err := bindings.Patch(ctx, rb.Name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, err
	}
	c.Wrote(written)
	return written, nil
}
