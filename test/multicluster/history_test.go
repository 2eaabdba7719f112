// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// The resources on Karmada's API server that determine the releases and their amounts.
var (
	queueResource    = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
	bindingResource  = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	workResource     = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
	claimTemplates   = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"}
	watchedTemplates = []schema.GroupVersionResource{
		{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}, {Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"},
	}
)

// change is one version of one object. Etcd numbers the changes of all resources in one sequence.
type change struct {
	revision int64
	// seen is when the watch delivered the change, which is later than the change itself.
	seen     time.Time
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	gone     bool
}

// namespace returns the namespace of the case of a change. The names of its queues begin with it.
func (c change) namespace() string {
	switch c.resource {
	case queueResource:
		parts := strings.SplitN(c.object.GetName(), "-", 3) // e2e-abcde-name
		return strings.Join(parts[:min(2, len(parts))], "-")
	case workResource:
		return c.object.GetAnnotations()[workv1alpha2.ResourceBindingNamespaceAnnotationKey]
	}
	return c.object.GetNamespace()
}

// history has every change of the watched resources since it began. Watches deliver changes of different resources out of
// order. Their revisions give the order.
type history struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	changes map[string][]change
	broken  error
}

// watchHistory records the changes of the watched resources.
func watchHistory(config *rest.Config) (*history, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{stop: cancel, changes: map[string][]change{}}
	for _, resource := range append([]schema.GroupVersionResource{queueResource, bindingResource, workResource, claimTemplates}, watchedTemplates...) {
		if err := h.follow(ctx, client, resource); err != nil {
			cancel()
			return nil, err
		}
	}
	return h, nil
}

func (h *history) follow(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource) error {
	list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", resource.Resource, err)
	}
	for i := range list.Items {
		h.add(resource, &list.Items[i], false)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Resource(resource).Watch(ctx, options)
		},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", resource.Resource, err)
	}
	h.done.Go(func() {
		defer watcher.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-watcher.ResultChan():
				object, isObject := event.Object.(*unstructured.Unstructured)
				if !open || !isObject {
					h.fail(fmt.Errorf("the watch of %s ended: %v", resource.Resource, event.Object))
					return
				}
				if event.Type != watch.Bookmark {
					h.add(resource, object, event.Type == watch.Deleted)
				}
			}
		}
	})
	return nil
}

func (h *history) add(resource schema.GroupVersionResource, object *unstructured.Unstructured, gone bool) {
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		h.fail(err)
		return
	}
	object.SetManagedFields(nil) // they are the largest part of it
	h.mu.Lock()
	defer h.mu.Unlock()
	c := change{revision, time.Now(), resource, object, gone}
	h.changes[c.namespace()] = append(h.changes[c.namespace()], c)
}

func (h *history) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = errors.Join(h.broken, err)
}

// ordered returns the changes of a namespace, and of queues whose names begin with it, in the order of their revisions.
func (h *history) ordered(namespace string) ([]change, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changes := slices.Clone(h.changes[namespace])
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.revision, b.revision) })
	return changes, h.broken
}

// end stops the watches.
func (h *history) end() {
	h.stop()
	h.done.Wait()
}
