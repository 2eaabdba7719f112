// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/readiness"
)

// waiters wakes goroutines that wait for changes of claims or pods. It is safe for concurrent use.
type waiters struct {
	mu      sync.Mutex
	waiting map[types.UID]map[chan<- struct{}]bool
}

func newWaiters() *waiters { return &waiters{waiting: map[types.UID]map[chan<- struct{}]bool{}} }

// wait returns a channel that receives a value after one of the objects changes. Call stop when it is no longer needed.
func (w *waiters) wait(objects []types.UID) (changed <-chan struct{}, stop func()) {
	woken := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uid := range objects {
		if w.waiting[uid] == nil {
			w.waiting[uid] = map[chan<- struct{}]bool{}
		}
		w.waiting[uid][woken] = true
	}
	return woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, uid := range objects {
			if delete(w.waiting[uid], woken); len(w.waiting[uid]) == 0 {
				delete(w.waiting, uid)
			}
		}
	}
}

// handler follows the events of claims or pods. An event without waiters costs only a lookup.
func (w *waiters) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: w.wake,
		UpdateFunc: func(before, now any) {
			w.wake(before) // the UID differs if it was deleted and created again
			w.wake(now)
		},
		DeleteFunc: w.wake,
	}
}

func (w *waiters) wake(object any) {
	changed, err := meta.Accessor(readiness.LastState(object))
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.waiting[changed.GetUID()] {
		select {
		case woken <- struct{}{}:
		default: // it already has an entry
		}
	}
}
