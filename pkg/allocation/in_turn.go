// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/tools/cache"
)

// inTurn is an informer whose handlers run in turn with those of other informers. Kubernetes' tracker of ResourceSlices needs that: when a DeviceClass
// or a DeviceTaintRule changes, it compares each slice with what its own handler has seen of the slice, device by device, and panics if the slice has more
// devices by then.
type inTurn struct {
	cache.SharedIndexInformer
	turn *sync.Mutex
	// seen has the objects as the handler has seen them.
	seen cache.Indexer
}

func newInTurn(informer cache.SharedIndexInformer, turn *sync.Mutex) *inTurn {
	return &inTurn{SharedIndexInformer: informer, turn: turn, seen: cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{})}
}

// AddEventHandler implements SharedIndexInformer, for one handler only.
func (i *inTurn) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	do := func(see func(any) error, object any, handle func()) {
		i.turn.Lock()
		defer i.turn.Unlock()
		if err := see(object); err != nil {
			utilruntime.HandleError(err) // the object has no name
		}
		handle()
	}
	return i.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { do(i.seen.Add, object, func() { handler.OnAdd(object, initial) }) },
		UpdateFunc: func(before, object any) {
			do(i.seen.Update, object, func() { handler.OnUpdate(before, object) })
		},
		DeleteFunc: func(object any) { do(i.seen.Delete, object, func() { handler.OnDelete(object) }) },
	})
}

// AddIndexers implements SharedIndexInformer.
func (i *inTurn) AddIndexers(indexers cache.Indexers) error { return i.seen.AddIndexers(indexers) }

// GetIndexer implements SharedIndexInformer.
func (i *inTurn) GetIndexer() cache.Indexer { return i.seen }

type slicesInTurn struct {
	resourceinformers.ResourceSliceInformer
	informer *inTurn
}

func (s slicesInTurn) Informer() cache.SharedIndexInformer { return s.informer }

type classesInTurn struct {
	resourceinformers.DeviceClassInformer
	informer *inTurn
}

func (c classesInTurn) Informer() cache.SharedIndexInformer { return c.informer }
