// SPDX-License-Identifier: Apache-2.0

// Package extended decides which extended resources DRA offers on nodes. It also finds out whether DRA or device plugins serve
// extended resources.
package extended

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"

	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// Offers keeps what DRA offers nodes as extended resources. Only the goroutine that runs the sessions uses it.
type Offers struct {
	// Wanted has the classes whose implicit resource is offered.
	Wanted  Wanted
	matcher *dra.Matcher
	// current was built from catalog and classes. The object is only replaced by a different one.
	current *dra.Offers
	catalog *dra.Catalog
	classes []string
}

// Of returns what the classes of a catalog offer. It returns the same object as long as nothing has changed.
func (o *Offers) Of(catalog *dra.Catalog, selectors *cel.Cache) *dra.Offers {
	if o.matcher == nil {
		o.matcher = dra.NewMatcher(selectors)
	}
	classes := o.Wanted.names()
	if catalog == o.catalog && slices.Equal(classes, o.classes) {
		return o.current
	}
	o.catalog, o.classes = catalog, classes
	if next := dra.NewOffers(catalog, o.matcher, classes); !next.Equal(o.current) {
		o.current = next
	}
	return o.current
}

// Drop forgets the offers.
func (o *Offers) Drop() { o.current, o.catalog, o.classes = nil, nil, nil }

// Wanted has the DeviceClasses whose implicit extended resource (deviceclass.resource.kubernetes.io/<class>) is requested by a pod, or by the
// minimum of a PodGroup. The pods of a PodGroup may not exist before it is enqueued. Nodes list only these resources, because every listed
// resource costs the scheduler time.
type Wanted struct {
	mu sync.Mutex
	// by has the number of containers and PodGroups that want each class.
	by map[string]int
	// sorted has the names. It is nil if it must be built again.
	sorted []string
}

// names returns the sorted classes. The caller must not change them.
func (w *Wanted) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sorted == nil && len(w.by) > 0 {
		w.sorted = slices.Sorted(maps.Keys(w.by))
	}
	return w.sorted
}

// count adds a number to each class that a list names.
func (w *Wanted) count(list corev1.ResourceList, more int) {
	for name := range list {
		class, implicit := strings.CutPrefix(string(name), resourceapi.ResourceDeviceClassPrefix)
		if !implicit {
			continue
		}
		w.mu.Lock()
		if w.by == nil {
			w.by = map[string]int{}
		}
		before := w.by[class]
		if w.by[class] = before + more; before+more == 0 {
			delete(w.by, class)
		}
		if before == 0 || before+more == 0 {
			w.sorted = nil
		}
		w.mu.Unlock()
	}
}

// WatchPods counts the requests of pods, which never change.
func (w *Wanted) WatchPods(informer toolscache.SharedIndexInformer) {
	count := func(pod *corev1.Pod, more int) {
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				w.count(containers[i].Resources.Requests, more)
			}
		}
	}
	handle(informer, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { count(object.(*corev1.Pod), 1) },
		UpdateFunc: func(before, after any) {
			// The informer may have missed that a pod was deleted and another pod took its name.
			if was, is := before.(*corev1.Pod), after.(*corev1.Pod); was.UID != is.UID {
				count(is, 1)
				count(was, -1)
			}
		},
		DeleteFunc: func(object any) {
			if pod, known := readiness.LastState(object).(*corev1.Pod); known {
				count(pod, -1)
			}
		},
	})
}

// WatchPodGroups counts the minimum resources of PodGroups.
func (w *Wanted) WatchPodGroups(informer toolscache.SharedIndexInformer) {
	count := func(group *vcv1beta1.PodGroup, more int) {
		if group.Spec.MinResources != nil {
			w.count(*group.Spec.MinResources, more)
		}
	}
	handle(informer, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { count(object.(*vcv1beta1.PodGroup), 1) },
		UpdateFunc: func(before, after any) {
			count(after.(*vcv1beta1.PodGroup), 1)
			count(before.(*vcv1beta1.PodGroup), -1)
		},
		DeleteFunc: func(object any) {
			if group, known := readiness.LastState(object).(*vcv1beta1.PodGroup); known {
				count(group, -1)
			}
		},
	})
}

func handle(informer toolscache.SharedIndexInformer, handler toolscache.ResourceEventHandler) {
	if _, err := informer.AddEventHandler(handler); err != nil {
		klog.ErrorS(err, "Failed to watch who wants DeviceClasses, nodes do not list the implicit extended resources of classes")
	}
}
