package crossquota

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// syncTimeout bounds how long the first session waits for what is published of devices. A server
// that does not have the API must not hold up everybody else.
const syncTimeout = 10 * time.Second

// celCacheSize is more than the expressions of the classes that count as GPU.
const celCacheSize = 100

// devices reads resource.k8s.io.
type devices struct {
	slices    resourcelisters.ResourceSliceLister
	classes   resourcelisters.DeviceClassLister
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
	celCache  *cel.Cache
	// changed is set by informers when offers may not hold any more.
	changed atomic.Bool
	// names are those of the classes that offers are about, and found those of them that there are.
	names  map[string]bool
	found  []*resourceapi.DeviceClass
	offers *offers
	// reaches has those of all slices; a slice that changes is another object.
	reaches map[*resourceapi.ResourceSlice]*reach
}

// startDevices shares the informers of the scheduler, and starts those that do not run yet.
func startDevices(factory informers.SharedInformerFactory) *devices {
	api := factory.Resource().V1()
	d := &devices{
		slices: api.ResourceSlices().Lister(), classes: api.DeviceClasses().Lister(),
		claims: api.ResourceClaims().Lister(), templates: api.ResourceClaimTemplates().Lister(),
		celCache: cel.NewCache(celCacheSize, cel.Features{EnableConsumableCapacity: true}),
	}
	d.changed.Store(true)
	mark := func() { d.changed.Store(true) }
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() }, UpdateFunc: func(any, any) { mark() }, DeleteFunc: func(any) { mark() },
	}
	synced := []cache.InformerSynced{api.ResourceClaims().Informer().HasSynced, api.ResourceClaimTemplates().Informer().HasSynced}
	for _, informer := range []cache.SharedIndexInformer{api.ResourceSlices().Informer(), api.DeviceClasses().Informer()} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			klog.ErrorS(err, "Failed to watch devices, nodes with devices of DRA do not count as GPU nodes", "plugin", Name)
			continue
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(context.Background().Done())
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		klog.ErrorS(nil, "Nothing is known of devices of DRA yet: until it is, nodes and pods with such devices do not count as having GPUs. "+
			"See whether the API server serves resource.k8s.io/v1", "plugin", Name)
	}
	return d
}

// refresh reads again what is offered, if it may have changed, and reports whether it has.
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
	matcher := classMatcher{classes: d.find(names), cache: d.celCache}
	if !slices.Equal(matcher.classes, d.found) {
		d.reaches = nil
	}
	d.names, d.found = names, matcher.classes
	reaches := make(map[*resourceapi.ResourceSlice]*reach, len(all))
	now := newOffers()
	for _, slice := range all {
		r := d.reaches[slice]
		if r == nil {
			r = newReach(&slice.Spec, matcher.matches)
		}
		reaches[slice] = r
		now.add(r)
	}
	d.reaches = reaches
	if now.same(d.offers) {
		return false
	}
	d.offers = now
	return true
}

// find returns those of the classes that there are, ordered by name.
func (d *devices) find(names map[string]bool) []*resourceapi.DeviceClass {
	var found []*resourceapi.DeviceClass
	for _, name := range slices.Sorted(maps.Keys(names)) {
		class, err := d.classes.Get(name)
		if err != nil {
			klog.V(3).InfoS("A DeviceClass is not there", "plugin", Name, "class", name, "reason", err.Error())
			continue
		}
		found = append(found, class)
	}
	return found
}

// classesOf returns the DeviceClasses that a pod's claims ask for. A claim that has not been made
// yet asks for what its template does.
func (d *devices) classesOf(pod *corev1.Pod) []string {
	var classes []string
	for i := range pod.Spec.ResourceClaims {
		source := &pod.Spec.ResourceClaims[i]
		if name, _, err := resourceclaim.Name(pod, source); err == nil && name != nil {
			if claim, err := d.claims.ResourceClaims(pod.Namespace).Get(*name); err == nil {
				classes = append(classes, classesIn(&claim.Spec)...)
				continue
			}
		}
		template := ptr.Deref(source.ResourceClaimTemplateName, "")
		if template == "" {
			continue
		}
		if found, err := d.templates.ResourceClaimTemplates(pod.Namespace).Get(template); err == nil {
			classes = append(classes, classesIn(&found.Spec.Spec)...)
		}
	}
	return classes
}

// classesIn returns the classes of all requests, alternatives included.
func classesIn(spec *resourceapi.ResourceClaimSpec) []string {
	var classes []string
	for _, request := range spec.Devices.Requests {
		if request.Exactly != nil {
			classes = append(classes, request.Exactly.DeviceClassName)
		}
		for _, alternative := range request.FirstAvailable {
			classes = append(classes, alternative.DeviceClassName)
		}
	}
	return classes
}
