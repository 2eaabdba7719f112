// SPDX-License-Identifier: Apache-2.0

package find

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// Queue is what a mistake in the quotas of a queue is found in, besides the ledger.
type Queue struct {
	Name string
	// Object is the queue as the API server serves it. It is nil if it has not been read.
	Object *schedulingv1beta1.Queue
	// Resources are the resource lists of the spec.
	Resources [3]corev1.ResourceList
	// ListsCards says that the queue has a card quota.
	ListsCards bool
	// Cards are the limits in the annotations for cards. Devices are the limits of devices that hold. Both are without those of
	// the queues above.
	Cards, Devices quota.Limits
}

// Finder finds quotas that are valid and surely not meant.
type Finder struct {
	Ledger     *ledger.Ledger
	Dimensions *ledger.Dimensions
	Fleet      *card.Fleet
	// Catalog is what is published of devices, nil while nothing is known. ServesClaims says that it will be known.
	Catalog      *dra.Catalog
	ServesClaims bool
	// ReclaimFault is what in the scheduler's configuration keeps queues from getting what they deserve.
	ReclaimFault problems.ReclaimFault
	// Queue returns what is known of a queue of the ledger, or of one that the ledger lacks.
	Queue func(name string) *Queue
}

// Found is what a Finder has found.
type Found struct {
	Problems problems.Problems
	// Deserving says that some queue deserves something, and Wronged that the scheduler's configuration keeps some queue from
	// getting it.
	Deserving, Wronged bool
}

// Find looks at queues.
func (f *Finder) Find(names []string) Found {
	found := Found{Problems: problems.Problems{}}
	for _, name := range names {
		queue := f.Queue(name)
		if id, there := f.Ledger.Queue(name); there {
			f.findUnknown(&found, id)
			f.findReclaimFault(&found, id)
			f.findCardsNotListed(&found, id)
		}
		findContradictionOfCards(&found, f.Dimensions, queue)
		f.findContradictionOfDevices(&found, queue)
		f.findClassesInCapability(&found, queue)
		findAnnotations(&found, queue)
	}
	for _, above := range f.Ledger.AboveParents() {
		found.Problems.LimitAboveParent(f.Ledger.Name(above.Queue), f.Ledger.Name(above.Above), above)
	}
	return found
}

// findUnknown finds DeviceClasses and cards that the cluster does not have. It judges nothing before DeviceClasses have
// been read.
func (f *Finder) findUnknown(found *Found, queue ledger.QueueID) {
	var classes []string
	cards := map[string][]string{}
	for o := range ledger.Ordinal(f.Dimensions.Len()) {
		if !f.Ledger.Capability(queue, o).Set && !f.Ledger.Deserved(queue, o).Set && !f.Ledger.Guarantee(queue, o).Set {
			continue
		}
		d := f.Dimensions.Dimension(o)
		_, isClass := f.Catalog.Class(d.Name)
		switch {
		case f.Catalog == nil && (d.Kind != ledger.Card || f.ServesClaims):
		case d.Kind.OfClass() && !isClass:
			if !slices.Contains(classes, d.Name) {
				classes = append(classes, d.Name)
			}
		case d.Kind == ledger.Card && !f.Fleet.Known(d.Name) && !f.Catalog.HasCard(d.Name):
			annotation := f.annotationWith(queue, o)
			cards[annotation] = append(cards[annotation], d.Name)
		}
	}
	if len(classes) > 0 {
		found.Problems.UnknownDeviceClasses(f.Ledger.Name(queue), classes)
	}
	for _, annotation := range quota.CardAnnotations {
		if len(cards[annotation]) > 0 {
			found.Problems.UnknownCards(f.Ledger.Name(queue), annotation, cards[annotation])
		}
	}
}

// findClassesInCapability finds DeviceClasses among the resources of a queue. The ledger does not have them: Volcano
// leaves out names that no resource can have.
func (f *Finder) findClassesInCapability(found *Found, queue *Queue) {
	classes := map[string]bool{}
	for _, resources := range queue.Resources {
		for name := range resources {
			if _, isClass := f.Catalog.Class(string(name)); isClass && !isNative(name) {
				classes[string(name)] = true
			}
		}
	}
	if len(classes) > 0 {
		found.Problems.ClassesInCapability(queue.Name, slices.Collect(maps.Keys(classes)))
	}
}

// isNative reports whether a name is that of a resource of Kubernetes, which a DeviceClass may have, too.
func isNative(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// findAnnotations finds annotations of a queue whose names are nearly right.
func findAnnotations(found *Found, queue *Queue) {
	if queue.Object == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(queue.Object.Annotations)) {
		if meant := quota.MeantAnnotation(key); meant != "" {
			found.Problems.UnknownAnnotation(queue.Name, key, meant)
		}
	}
}
