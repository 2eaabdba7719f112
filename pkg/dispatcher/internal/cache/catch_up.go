// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// catchUpPoll is the interval at which CatchUp checks the informer.
const catchUpPoll = 20 * time.Millisecond

var bindingsResource = workv1alpha2.SchemeGroupVersion.WithResource("resourcebindings")

// CatchUp returns when the cache shows every write to a binding or a queue that the API server accepted before the call. Informers may
// lag behind, and a new leader must see the grants and the limits of the one before.
func (c *Cache) CatchUp(ctx context.Context) error {
	list, err := c.clients.Metadata.Resource(bindingsResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ResourceBindings: %w", err)
	}
	queues, err := c.clients.Queues.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Queues: %w", err)
	}
	for i := range list.Items {
		if err := catchUp(ctx, "ResourceBinding", &list.Items[i], func() bool { return c.shows(ctx, &list.Items[i]) }); err != nil {
			return err
		}
	}
	for i := range queues.Items {
		if err := catchUp(ctx, "Queue", &queues.Items[i], func() bool { return c.showsQueue(ctx, &queues.Items[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// catchUp returns when the informer shows an object.
func catchUp(ctx context.Context, kind string, listed metav1.Object, shows func() bool) error {
	poll := time.NewTicker(catchUpPoll)
	defer poll.Stop()
	for !shows() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("version %s of %s %s has not been read: %w",
				listed.GetResourceVersion(), kind, cache.MetaObjectToName(listed), ctx.Err())
		case <-poll.C:
		}
	}
	return nil
}

func (c *Cache) showsQueue(ctx context.Context, listed *schedulingv1beta1.Queue) bool {
	if shown, err := c.queues.Get(listed.Name); err == nil {
		return !workload.Newer(listed.ResourceVersion, shown.ResourceVersion)
	}
	read, err := c.clients.Queues.SchedulingV1beta1().Queues().Get(ctx, listed.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && read.UID != listed.UID
}

// shows reports whether the informer shows a version of a binding or a later one, or the binding is gone. A binding that replaces the
// listed one counts as later.
func (c *Cache) shows(ctx context.Context, listed *metav1.PartialObjectMetadata) bool {
	shown, err := c.bindings.ResourceBindings(listed.Namespace).Get(listed.Name)
	if err == nil {
		return !workload.Newer(listed.ResourceVersion, shown.ResourceVersion)
	}
	read, err := c.clients.Metadata.Resource(bindingsResource).Namespace(listed.Namespace).Get(ctx, listed.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && read.UID != listed.UID
}
