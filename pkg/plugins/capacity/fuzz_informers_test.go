// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core"
	coreinformersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
)

// fuzzInformers are the scheduler's informers. They never run: a run puts pods and nodes into their stores, which calls
// all handlers synchronously.
type fuzzInformers struct {
	informers.SharedInformerFactory
	pods  *fuzzInformer
	nodes *fuzzInformer
}

func newFuzzInformers(kube kubernetes.Interface) *fuzzInformers {
	factory := informers.NewSharedInformerFactory(kube, 0)
	return &fuzzInformers{
		SharedInformerFactory: factory,
		pods:                  &fuzzInformer{SharedIndexInformer: factory.Core().V1().Pods().Informer()},
		nodes:                 &fuzzInformer{SharedIndexInformer: factory.Core().V1().Nodes().Informer()},
	}
}

// fuzzInformer is an informer that a run feeds.
type fuzzInformer struct {
	toolscache.SharedIndexInformer
	handlers []toolscache.ResourceEventHandler
}

// AddEventHandler implements SharedIndexInformer.
func (i *fuzzInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	for _, object := range i.GetStore().List() {
		handler.OnAdd(object, true)
	}
	i.handlers = append(i.handlers, handler)
	return synced{}, nil
}

// synced is the registration of a handler that has seen everything.
type synced struct{}

// HasSynced implements ResourceEventHandlerRegistration.
func (synced) HasSynced() bool { return true }

// put returns the object that was in the store before, nil if there was none.
func (i *fuzzInformer) put(object runtime.Object) any {
	before, exists, _ := i.GetIndexer().Get(object)
	_ = i.GetIndexer().Add(object) // an indexer of objects with metadata returns no error
	for _, h := range i.handlers {
		if exists {
			h.OnUpdate(before, object)
		} else {
			h.OnAdd(object, false)
		}
	}
	if !exists {
		return nil
	}
	return before
}

// remove returns the object that was in the store.
func (i *fuzzInformer) remove(object runtime.Object) any {
	before, _, _ := i.GetIndexer().Get(object)
	_ = i.GetIndexer().Delete(object)
	for _, h := range i.handlers {
		h.OnDelete(before)
	}
	return before
}

// Core implements informers.SharedInformerFactory.
func (f *fuzzInformers) Core() coreinformers.Interface {
	return fuzzCore{f.SharedInformerFactory.Core(), f}
}

type fuzzCore struct {
	coreinformers.Interface
	informers *fuzzInformers
}

// V1 implements the interface of informers/core.
func (f fuzzCore) V1() coreinformersv1.Interface { return fuzzCoreV1{f.Interface.V1(), f.informers} }

type fuzzCoreV1 struct {
	coreinformersv1.Interface
	informers *fuzzInformers
}

// Pods implements the interface of informers/core/v1.
func (f fuzzCoreV1) Pods() coreinformersv1.PodInformer {
	return fuzzPods{f.Interface.Pods(), f.informers}
}

// Nodes implements the interface of informers/core/v1.
func (f fuzzCoreV1) Nodes() coreinformersv1.NodeInformer {
	return fuzzNodes{f.Interface.Nodes(), f.informers}
}

type fuzzPods struct {
	coreinformersv1.PodInformer
	informers *fuzzInformers
}

// Informer implements PodInformer.
func (p fuzzPods) Informer() toolscache.SharedIndexInformer { return p.informers.pods }

type fuzzNodes struct {
	coreinformersv1.NodeInformer
	informers *fuzzInformers
}

// Informer implements NodeInformer.
func (n fuzzNodes) Informer() toolscache.SharedIndexInformer { return n.informers.nodes }
