// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cardWatch sums up the requests for a resource at every change of a pod, over all pods that have a node and have not ended.
type cardWatch struct {
	resource corev1.ResourceName

	mu      sync.Mutex
	holding map[types.UID]int
	nodes   map[string]int
	highest map[string]int
}

// watchCards starts to watch the fixture's namespace.
func (f *fixture) watchCards(name corev1.ResourceName) *cardWatch {
	w := &cardWatch{resource: name, holding: map[types.UID]int{}, nodes: map[string]int{}, highest: map[string]int{}}
	followPods(f.namespace, w.set)
	return w
}

func (w *cardWatch) set(pod *corev1.Pod, gone bool) {
	holds := 0
	if ended := gone || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed; pod.Spec.NodeName != "" && !ended {
		quantity := pod.Spec.Containers[0].Resources.Requests[w.resource]
		holds = int(quantity.Value())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, where := range []string{pod.Spec.NodeName, ""} {
		w.nodes[where] += holds - w.holding[pod.UID]
		w.highest[where] = max(w.highest[where], w.nodes[where])
		if pod.Spec.NodeName == "" {
			break
		}
	}
	w.holding[pod.UID] = holds
}

// most returns the highest sum so far.
func (w *cardWatch) most() int { return w.mostOn("") }

// mostOn returns the highest sum on one node so far.
func (w *cardWatch) mostOn(node string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest[node]
}
