// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"math"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/dra"
)

// nodes adds the extended resources of DRA to the nodes of the scheduler's cache. The snapshots of sessions are not enough: the cache refuses to bind
// a pod to a node that lists too little.
type nodes struct {
	cache *schedulercache.SchedulerCache
	// current has the offers for nodes from the informer.
	current atomic.Pointer[dra.Offers]
	// offers are the latest offers on the nodes, and shown has these nodes as the cache has them. If the cache sets a node anew, it is another
	// object. shown is nil before the first offers.
	offers *dra.Offers
	shown  map[string]*corev1.Node
	// known has the nodes that the cache had at the last call. It is nil before the first one.
	known map[string]*api.NodeInfo
}

// newNodes must be called before the cache runs.
func newNodes(cache *schedulercache.SchedulerCache) (*nodes, error) {
	n := &nodes{cache: cache}
	if err := cache.SharedInformerFactory().Core().V1().Nodes().Informer().SetTransform(n.transform); err != nil {
		return nil, fmt.Errorf("show what DRA offers on nodes: %w", err)
	}
	return n, nil
}

// transform adds the current offers to a node from the informer.
func (n *nodes) transform(object any) (any, error) {
	if node, known := object.(*corev1.Node); known {
		node.ManagedFields = nil // nothing reads them
		return dra.ShowOffers(bounded(node), n.current.Load()), nil
	}
	return object, nil
}

// bounded limits the amounts of a node to countable ones. Volcano reads 8Ei cores as -1, so one of these nodes would reduce the total of the
// cluster.
func bounded(node *corev1.Node) *corev1.Node {
	if requests.Check(node.Status.Allocatable) == nil && requests.Check(node.Status.Capacity) == nil {
		return node
	}
	copied := *node
	copied.Status.Allocatable, copied.Status.Capacity = requests.Bounded(node.Status.Allocatable), requests.Bounded(node.Status.Capacity)
	return &copied
}

// restorePods adds the pods that run on a node that was deleted and created again. Volcano forgets them until something changes about them, and gives
// their room to others.
func (n *nodes) restorePods() {
	for _, pod := range n.forgotten() {
		n.restore(pod)
	}
}

// restore adds a pod as the informer has it. Meanwhile, the cache may have been told that the pod has changed or is gone, and nobody tells it again: a pod that is
// gone would keep its room for ever.
func (n *nodes) restore(pod *corev1.Pod) {
	for lister := n.cache.SharedInformerFactory().Core().V1().Pods().Lister(); ; {
		n.cache.DeletePod(pod)
		n.cache.AddPod(pod)
		latest, err := lister.Pods(pod.Namespace).Get(pod.Name)
		if err == nil && latest == pod {
			return // the cache is told of all that comes later
		}
		n.cache.DeletePod(pod)
		if err != nil || latest.Spec.NodeName != pod.Spec.NodeName {
			return
		}
		pod = latest
	}
}

// forgotten returns the pods that run on nodes that are new in the cache, and that these nodes do not have. A pod that is being bound only has the name of a
// node: as a bound pod, it would be evicted, or bound once more, with another claim for the same devices.
func (n *nodes) forgotten() (pods []*corev1.Pod) {
	n.cache.Lock()
	defer n.cache.Unlock()
	before := n.known
	if maps.Equal(n.known, n.cache.Nodes) {
		return nil
	}
	if n.known = maps.Clone(n.cache.Nodes); before == nil {
		return nil // the cache has filled itself
	}
	all, err := n.cache.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil // never: it reads memory
	}
	for _, pod := range all {
		on := n.known[pod.Spec.NodeName]
		if on != nil && before[pod.Spec.NodeName] != on && on.Tasks[api.PodKey(pod)] == nil && dra.Bound(pod) && !podutil.IsPodTerminal(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// show puts offers on the nodes of the cache. It skips nodes that have not changed since the last call with the same offers. The informer's
// nodes keep older offers until the next delivery. The cache may use these nodes at any time, and the next call corrects this.
func (n *nodes) show(offers *dra.Offers) {
	n.restorePods()
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

// inUse returns how much of a resource the pods on a node request. If a node lists less, Volcano leaves pods that are being bound out of the next
// snapshot, with all their requests.
func inUse(info *api.NodeInfo) func(corev1.ResourceName) int64 {
	return func(name corev1.ResourceName) int64 {
		const milli = 1000
		return int64(math.Ceil(info.Used.ScalarResources[name] / milli))
	}
}
