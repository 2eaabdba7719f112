// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanoinformers "volcano.sh/apis/pkg/client/informers/externalversions"
)

// poolEvent is a version of an object, or its deletion.
type poolEvent struct {
	revision uint64
	object   runtime.Object
	gone     bool
}

// poolHistory has all changes of the jobs, pods, and claims of a namespace, and of nodes and their ResourceSlices. They come from several
// watches, but all of them have revisions of the same store. At the end, the order of all changes is therefore known.
type poolHistory struct {
	mu     sync.Mutex
	events []poolEvent
	// now is the state after all changes that the watches have shown so far.
	now *poolState
	// got is the number of pods that were bound to each node.
	got map[string]int
	// fitting says that a waiting pod fits. Epoch counts how often this began anew, because a pod got a node or because none fitted in between.
	fitting bool
	epoch   int
}

// recordPool starts the record.
func (f *fixture) recordPool(nodes ...string) *poolHistory {
	GinkgoHelper()
	h := &poolHistory{now: newPoolState(nodes), got: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	DeferCleanup(cancel)
	local := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(f.namespace))
	global := informers.NewSharedInformerFactory(kube, 0)
	volcano := volcanoinformers.NewSharedInformerFactoryWithOptions(vc, 0, volcanoinformers.WithNamespace(f.namespace))
	for _, informer := range []cache.SharedIndexInformer{
		global.Core().V1().Nodes().Informer(), global.Resource().V1().ResourceSlices().Informer(),
		local.Core().V1().Pods().Informer(), local.Resource().V1().ResourceClaims().Informer(),
		volcano.Batch().V1alpha1().Jobs().Informer(),
	} {
		must(informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { h.see(obj, false) },
			UpdateFunc: func(_, obj any) { h.see(obj, false) },
			DeleteFunc: func(obj any) { h.see(obj, true) },
		}))
	}
	local.Start(ctx.Done())
	global.Start(ctx.Done())
	volcano.Start(ctx.Done())
	local.WaitForCacheSync(ctx.Done())
	global.WaitForCacheSync(ctx.Done())
	volcano.WaitForCacheSync(ctx.Done())
	return h
}

func (h *poolHistory) see(obj any, gone bool) {
	defer GinkgoRecover()
	_, missed := obj.(cache.DeletedFinalStateUnknown)
	Expect(missed).To(BeFalse(), "a watch missed when %v was deleted", obj)
	object := obj.(runtime.Object)
	accessor := must(meta.Accessor(object))
	revision := must(strconv.ParseUint(accessor.GetResourceVersion(), 10, 64))
	h.mu.Lock()
	defer h.mu.Unlock()
	node := h.now.binds(object)
	h.events = append(h.events, poolEvent{revision, object, gone})
	h.now.apply(object, gone)
	fitted := h.fitting
	h.fitting = len(h.now.waiting()) > 0 && h.now.freeCards() > 0 && h.now.inUse() < poolQuota
	if node != "" {
		h.got[node]++
	}
	if node != "" || h.fitting && !fitted {
		h.epoch++
	}
}

// look calls a function with the current state.
func (h *poolHistory) look(see func(now *poolState)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	see(h.now)
}

// fits returns the epoch and the waiting pods, nil if none of them fits.
func (h *poolHistory) fits() (epoch int, waiting []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fitting {
		waiting = h.now.waiting()
	}
	return h.epoch, waiting
}

// bound returns the number of pods that were bound to a node so far.
func (h *poolHistory) bound(node string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[node]
}

// replay calls a function with the state after each change, in the order of the store.
func (h *poolHistory) replay(see func(s *poolState, changed runtime.Object)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortStableFunc(h.events, func(a, b poolEvent) int { return int(a.revision) - int(b.revision) })
	s := newPoolState(h.now.pool)
	for _, e := range h.events {
		s.apply(e.object, e.gone)
		see(s, e.object)
	}
}

// apply applies a change to the state.
func (s *poolState) apply(object runtime.Object, gone bool) {
	switch o := object.(type) {
	case *corev1.Node:
		set(s.nodes, o.Name, o, gone)
	case *resourcev1.ResourceSlice:
		set(s.slices, o.Name, o, gone)
	case *corev1.Pod:
		set(s.pods, o.Name, o, gone)
	case *resourcev1.ResourceClaim:
		set(s.claims, o.Name, o, gone)
	case *batchv1alpha1.Job:
		set(s.jobs, o.Name, o, gone)
	}
}

func set[T any](objects map[string]T, name string, object T, gone bool) {
	if gone {
		delete(objects, name)
	} else {
		objects[name] = object
	}
}

// binds returns the node of a new version of a pod if the previous version had none.
func (s *poolState) binds(object runtime.Object) string {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return ""
	}
	if before := s.pods[pod.Name]; before != nil && before.UID == pod.UID && before.Spec.NodeName != "" {
		return ""
	}
	return pod.Spec.NodeName
}
