// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// syncTimeout bounds how long the first session waits for ResourceSlices and DeviceClasses. An API
// server that does not serve them must not block the scheduler.
const syncTimeout = 10 * time.Second

// celCacheSize is larger than the number of expressions of the classes that count as GPU.
const celCacheSize = 100

// devices reads the objects of resource.k8s.io.
type devices struct {
	slices    resourcelisters.ResourceSliceLister
	classes   resourcelisters.DeviceClassLister
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
	// changed is set by informers when the nodes may be out of date.
	changed atomic.Bool
	// names are the names of the classes in nodes.
	names map[string]bool
	nodes *dra.NodesWithDevices
}

// startDevices uses the informers of the scheduler's factory and starts those that do not run yet.
func startDevices(factory informers.SharedInformerFactory) *devices {
	api := factory.Resource().V1()
	d := &devices{
		slices: api.ResourceSlices().Lister(), classes: api.DeviceClasses().Lister(),
		claims: api.ResourceClaims().Lister(), templates: api.ResourceClaimTemplates().Lister(),
		nodes: dra.NewNodesWithDevices(cel.NewCache(celCacheSize, cel.Features{EnableConsumableCapacity: true})),
	}
	d.changed.Store(true)
	mark := func() { d.changed.Store(true) }
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() }, UpdateFunc: func(any, any) { mark() }, DeleteFunc: func(any) { mark() },
	}
	synced := []toolscache.InformerSynced{api.ResourceClaims().Informer().HasSynced, api.ResourceClaimTemplates().Informer().HasSynced}
	for _, informer := range []toolscache.SharedIndexInformer{api.ResourceSlices().Informer(), api.DeviceClasses().Informer()} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			klog.ErrorS(err, "Failed to watch devices, nodes with DRA devices do not count as GPU nodes", "plugin", Name)
			continue
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(context.Background().Done())
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		klog.ErrorS(nil, "DRA objects are not synced yet: until they are, nodes and pods with DRA devices do not count as having GPUs. "+
			"Check that the API server serves resource.k8s.io/v1", "plugin", Name)
	}
	return d
}

// refresh updates the nodes if they may be out of date, and reports whether they have changed.
func (d *devices) refresh(names map[string]bool) bool {
	sameNames := maps.Equal(names, d.names)
	if !d.changed.Swap(false) && sameNames {
		return false
	}
	all, err := d.slices.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list ResourceSlices", "plugin", Name)
		return false
	}
	d.names = names
	return d.nodes.Update(d.find(names), all)
}

// find returns the named classes that exist, sorted by name.
func (d *devices) find(names map[string]bool) []*resourceapi.DeviceClass {
	var found []*resourceapi.DeviceClass
	for _, name := range slices.Sorted(maps.Keys(names)) {
		class, err := d.classes.Get(name)
		if err != nil {
			klog.V(3).InfoS("DeviceClass not found", "plugin", Name, "class", name, "reason", err.Error())
			continue
		}
		found = append(found, class)
	}
	return found
}
