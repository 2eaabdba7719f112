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

// Queue has the data of a queue, besides the ledger, in which a Finder finds problems.
type Queue struct {
	Name string
	// Object is the queue from the API server. It is nil if it has not been read.
	Object *schedulingv1beta1.Queue
	// Resources are the resource lists of the spec.
	Resources [3]corev1.ResourceList
	// ListsCards reports whether the queue has a card quota.
	ListsCards bool
	// Cards are the limits in the annotations for cards. Devices are the effective limits of devices. Neither includes limits of
	// ancestors.
	Cards, Devices quota.Limits
}

// Finder finds quotas that are valid but surely not intended.
type Finder struct {
	Ledger     *ledger.Ledger
	Dimensions *ledger.Dimensions
	Fleet      *card.Fleet
	// Catalog has the published devices. It is nil while nothing is known. ServesClaims reports whether this will change.
	Catalog      *dra.Catalog
	ServesClaims bool
	// ReclaimFault is the setting in the scheduler's configuration that keeps queues from getting what they deserve.
	ReclaimFault problems.ReclaimFault
	// Queue returns the data of a queue, which may be missing in the ledger.
	Queue func(name string) *Queue
}

// Found is the result of a Finder.
type Found struct {
	Problems problems.Problems
	// Deserving reports whether any queue deserves anything. Wronged reports whether the scheduler's configuration keeps any queue from
	// getting it.
	Deserving, Wronged bool
}

// Find checks queues.
func (f *Finder) Find(names []string) Found {
	found := Found{Problems: problems.Problems{}}
	for _, name := range names {
		queue := f.Queue(name)
		if id, there := f.Ledger.Queue(name); there {
			f.findUnknown(&found, id)
			f.findReclaimFault(&found, id)
			f.findCardsNotListed(&found, id)
		}
		if c, any := quota.ContradictionOfCards(queue.Cards); any {
			found.Problems.ContradictoryCards(queue.Name, f.Dimensions.Dimension(c.Dimension), c)
		}
		f.findContradictionOfDevices(&found, queue)
		f.findClassesInCapability(&found, queue)
		findAnnotations(&found, queue)
	}
	for _, above := range f.Ledger.AboveParents() {
		found.Problems.LimitAboveParent(f.Ledger.Name(above.Queue), f.Ledger.Name(above.Above), above)
	}
	return found
}

// findUnknown finds DeviceClasses and cards that the cluster does not have. It skips them until DeviceClasses have been read.
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

// findContradictionOfDevices finds contradictory numbers of devices in the quotas of a queue.
func (f *Finder) findContradictionOfDevices(found *Found, queue *Queue) {
	if queue.Object == nil {
		return
	}
	for _, twice := range quota.DevicesListedTwice(queue.Object, &ledger.Dimensions{}, f.Catalog.CapacityOfSeveralDrivers) {
		found.Problems.DevicesListedTwice(queue.Name, &twice)
	}
	if c, any := quota.ContradictionOfDevices(queue.Devices); any {
		found.Problems.ContradictoryDevices(queue.Name, f.Dimensions.Dimension(c.Dimension), c)
	}
}

// findClassesInCapability finds DeviceClasses among the resources of a queue. The ledger lacks them, because Volcano drops names that no
// resource can have.
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

// isNative reports whether a name belongs to a resource of Kubernetes. A DeviceClass may have the same name.
func isNative(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) || strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// findAnnotations finds annotations of a queue with nearly correct names.
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
