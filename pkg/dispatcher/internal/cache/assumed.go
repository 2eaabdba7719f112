// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// assumed has the bindings that the dispatcher has written and that the informer does not show yet. Without it, the next cycle
// would decide on the state before the write.
type assumed struct {
	mu       sync.Mutex
	bindings map[types.UID]*workv1alpha2.ResourceBinding
}

func newAssumed() *assumed {
	return &assumed{bindings: map[types.UID]*workv1alpha2.ResourceBinding{}}
}

// add adds the API server's answer to a write. The write that removes the last finalizer of a deleted binding is not added.
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

// latest returns the bindings of a list, or their last writes if these are later. It reads the writes before the list: shows may drop a
// write meanwhile that the list does not have.
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

// shows drops a write that the informer shows.
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
