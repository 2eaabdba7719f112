// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/readiness"
)

// ids are UIDs of objects, and permanent IDs of bindings. Both are universally unique.
type ids map[string]bool

// maxChanges bounds the remembered changes: a replica that does not lead takes no snapshots.
const maxChanges = 100_000

// anything is the ID that stands for more changes than are remembered.
const anything = "*"

func (i ids) has(id string) bool { return i[id] || i[anything] }

// changes has the IDs of what has changed since the last snapshot. Bindings without a change need no work.
type changes struct {
	mu  sync.Mutex
	ids ids
}

func (c *changes) add(id string) {
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ids[anything]:
		return
	case c.ids == nil:
		c.ids = ids{}
	case len(c.ids) >= maxChanges:
		c.ids, id = ids{}, anything
	}
	c.ids[id] = true
}

// take returns the changes since its last call. An informer shows a change before the change is noted. Reads after take are
// therefore at least as new as the changes.
func (c *changes) take() ids {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.ids
	c.ids = nil
	return taken
}

// noting returns a handler that notes the IDs of changed objects.
func (c *Cache) noting(id func(object any) string) cache.ResourceEventHandler {
	note := func(object any) {
		c.changes.add(id(readiness.LastState(object)))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { note(object); c.change() },
		UpdateFunc: func(before, after any) {
			note(before)
			note(after)
			c.change()
		},
		DeleteFunc: func(object any) { note(object); c.change() },
	}
}

// uidOf returns the UID of an object, "" if there is none.
func uidOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return string(accessor.GetUID())
}

// bindingOf returns the permanent ID of the binding of a Work.
func bindingOf(object any) string {
	work, is := object.(*workv1alpha1.Work)
	if !is {
		return ""
	}
	return idOf(work.Labels)
}
