// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"math"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/dra"
)

// nodes makes the nodes of the scheduler's cache list what DRA offers them as extended resources. The cache itself must have it, not only the
// snapshot of a session: it refuses to bind a pod to a node that lists too little.
type nodes struct {
	cache *schedulercache.SchedulerCache
	// current has the offers for nodes that the informer delivers.
	current atomic.Pointer[dra.Offers]
	// offers are those that were shown last, shown the nodes that they were shown on, as the cache has them. A node that the cache sets
	// anew is another object. Shown is nil until something is offered.
	offers *dra.Offers
	shown  map[string]*corev1.Node
}

// newNodes must be called before the cache runs.
func newNodes(cache *schedulercache.SchedulerCache) (*nodes, error) {
	n := &nodes{cache: cache}
	if err := cache.SharedInformerFactory().Core().V1().Nodes().Informer().SetTransform(n.transform); err != nil {
		return nil, fmt.Errorf("show what DRA offers on nodes: %w", err)
	}
	return n, nil
}

// transform shows the current offers on a node that the informer delivers.
func (n *nodes) transform(object any) (any, error) {
	if node, known := object.(*corev1.Node); known {
		return dra.ShowOffers(bounded(node), n.current.Load()), nil
	}
	return object, nil
}

// bounded returns a node that offers no more than can be counted. Volcano takes 8Ei cores for -1, so that one such node would take what other
// nodes add to the cluster.
func bounded(node *corev1.Node) *corev1.Node {
	if requests.Check(node.Status.Allocatable) == nil && requests.Check(node.Status.Capacity) == nil {
		return node
	}
	copied := *node
	copied.Status.Allocatable, copied.Status.Capacity = requests.Bounded(node.Status.Allocatable), requests.Bounded(node.Status.Capacity)
	return &copied
}

// show shows offers on the nodes of the cache. Nodes that have not changed since the last call cost nothing as long as the offers are the
// same. The informer's own nodes keep older offers until they are delivered again, and the cache may take one of them at any time, which
// the next call corrects.
func (n *nodes) show(offers *dra.Offers) {
	if offers == nil && n.shown == nil {
		return
	}
	n.current.Store(offers)
	if offers != n.offers || n.shown == nil {
		n.offers, n.shown = offers, map[string]*corev1.Node{}
	}
	n.cache.Lock()
	defer n.cache.Unlock()
	for name, info := range n.cache.Nodes {
		if info.Node == nil || n.shown[name] == info.Node {
			continue
		}
		if shown := dra.ShowOffersInUse(info.Node, offers, inUse(info)); shown != info.Node {
			info.SetNode(shown)
		}
		n.shown[name] = info.Node
	}
	if len(n.shown) > len(n.cache.Nodes) {
		maps.DeleteFunc(n.shown, func(name string, _ *corev1.Node) bool { return n.cache.Nodes[name] == nil })
	}
}

// inUse returns how much of a resource the pods on a node request. If a node lists less, Volcano leaves pods that are being bound out of the
// next snapshot, with all that they request.
func inUse(info *api.NodeInfo) func(corev1.ResourceName) int64 {
	return func(name corev1.ResourceName) int64 {
		const milli = 1000
		return int64(math.Ceil(info.Used.ScalarResources[name] / milli))
	}
}
