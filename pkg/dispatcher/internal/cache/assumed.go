// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// assumed has the bindings that the dispatcher has written and the informer has not shown yet. Without it, the next
// cycle would decide on the state before the write.
type assumed struct {
	mu       sync.Mutex
	bindings map[types.UID]*workv1alpha2.ResourceBinding
}

func newAssumed() *assumed {
	return &assumed{bindings: map[types.UID]*workv1alpha2.ResourceBinding{}}
}

// add notes what the API server has answered to a write. The write that lets go of a binding is the last one.
func (a *assumed) add(written *workv1alpha2.ResourceBinding) {
	if written.DeletionTimestamp != nil && len(written.Finalizers) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.bindings[written.UID]; known == nil || workload.Newer(written.ResourceVersion, known.ResourceVersion) {
		a.bindings[written.UID] = written
	}
}

// latest returns the bindings of a list, or what has been written if that is later. It reads the writes before the list: what the informer
// shows meanwhile is dropped here, and the list need not have it.
func (a *assumed) latest(list func() ([]*workv1alpha2.ResourceBinding, error)) ([]*workv1alpha2.ResourceBinding, error) {
	a.mu.Lock()
	written := maps.Clone(a.bindings)
	a.mu.Unlock()
	bindings, err := list()
	for i, shown := range bindings {
		if w := written[shown.UID]; w != nil && workload.Newer(w.ResourceVersion, shown.ResourceVersion) {
			bindings[i] = w
		}
	}
	return bindings, err
}

// shows drops what the informer shows by now.
func (a *assumed) shows(shown *workv1alpha2.ResourceBinding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if written := a.bindings[shown.UID]; written != nil && !workload.Newer(written.ResourceVersion, shown.ResourceVersion) {
		delete(a.bindings, shown.UID)
	}
}

// forget drops a binding that is gone.
func (a *assumed) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.bindings, uid)
}
