// SPDX-License-Identifier: Apache-2.0

package queueschema

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
)

// NewInformer returns an informer that lists all queues again when the API server has begun to serve spec.dra. For two minutes after a change of the CRD,
// the API server sends to watches what the CRD before had: see customresource_handler.go of apiextensions-apiserver. Quotas of that time would not hold.
// Outdated returns a channel that is closed the next time that the API server begins to serve the field.
func NewInformer(client versioned.Interface, resync time.Duration, outdated func() <-chan struct{}) toolscache.SharedIndexInformer {
	queues := client.SchedulingV1beta1().Queues()
	var listOutdated <-chan struct{} // of the last list
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			listOutdated = outdated()
			return queues.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			source, err := queues.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			return until(listOutdated, source), nil
		},
	}, &schedulingv1beta1.Queue{}, resync, toolscache.Indexers{})
}

// until returns a watch that expires when outdated is closed. Its user then lists again.
func until(outdated <-chan struct{}, source watch.Interface) watch.Interface {
	events := make(chan watch.Event)
	proxy := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer source.Stop()
		for last := false; !last; {
			var event watch.Event
			select {
			case <-proxy.StopChan():
				return
			case <-outdated:
				status := apierrors.NewResourceExpired("the Queue CRD has changed").Status()
				event, last = watch.Event{Type: watch.Error, Object: &status}, true
			case next, open := <-source.ResultChan():
				if !open {
					return
				}
				event = next
			}
			select {
			case <-proxy.StopChan():
				return
			case events <- event:
			}
		}
	}()
	return proxy
}
