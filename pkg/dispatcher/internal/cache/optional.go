// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
)

// discoverEvery is the interval between checks for a kind that the API server does not serve. Its CRD may be installed later.
const discoverEvery = 10 * time.Second

// optional reads objects of a kind that the API server may not serve.
type optional struct {
	gvk      schema.GroupVersionKind
	informer cache.SharedIndexInformer
	// absent says that the API server does not serve the kind.
	absent atomic.Bool
}

// run waits until the API server serves the kind, and then reads objects until ctx ends.
func (o *optional) run(ctx context.Context, discovery discovery.DiscoveryInterface) {
	poll := time.NewTicker(discoverEvery)
	defer poll.Stop()
	for {
		served, err := o.served(discovery)
		o.absent.Store(err == nil && !served)
		if err == nil && served {
			o.informer.RunWithContext(ctx)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

func (o *optional) served(discovery discovery.DiscoveryInterface) (bool, error) {
	list, err := discovery.ServerResourcesForGroupVersion(o.gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range list.APIResources {
		if list.APIResources[i].Kind == o.gvk.Kind {
			return true, nil
		}
	}
	return false, nil
}

// notRead returns an error if the API server serves the kind and its objects have not been read.
func (o *optional) notRead() error {
	if o.absent.Load() || o.informer.HasSynced() {
		return nil
	}
	return fmt.Errorf("objects of kind %s in %s have not been read yet", o.gvk.Kind, o.gvk.GroupVersion())
}
