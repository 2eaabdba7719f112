// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
)

// newFailedBindings returns a backoff for pods whose binding fails: the first tries come at once, the later ones as in kube-scheduler.
func newFailedBindings() *flowcontrol.Backoff {
	return flowcontrol.NewBackOff(10*time.Millisecond, 10*time.Second)
}

// BindingFailed notes that a pod could not be bound. It is safe for concurrent use.
func (c *Cache) BindingFailed(pod types.UID) {
	c.NotBinding(pod)
	c.failed.Next(string(pod), c.failed.Clock.Now())
}

// HasFailed reports whether the binding of a pod has failed a short time ago. If that happens again and again, the pod would take what others wait for in each
// session, and use it in none. Users can make such pods: those that the API server cannot store any more once they have a node.
func (s *Snapshot) HasFailed(pod types.UID) bool {
	return s.failed.IsInBackOffSinceUpdate(string(pod), s.begun)
}
