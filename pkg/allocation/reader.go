package allocation

import (
	"context"
	"fmt"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/client"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Reader knows the objects of resource.k8s.io, in whatever version the API server serves them.
// It lives as long as the process.
type Reader struct {
	client    *client.Client
	manager   k8sframework.SharedDRAManager
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
	classes   resourcelisters.DeviceClassLister
	synced    []cache.InformerSynced
	// served is the version that the API server had at the start, in the client's spelling.
	served string
	// caughtUp is set once the manager, which handlers fill, has all that the informers had at first.
	caughtUp bool

	// stale says that classes or slices have changed since the catalog was made.
	stale    atomic.Bool
	catalog  *dra.Catalog
	celCache *cel.Cache
}

// anyVersion is a client whose resource.k8s.io/v1 is also served by API servers that have but
// v1beta2 or v1beta1 of it, which are Kubernetes 1.33 and 1.32.
type anyVersion struct {
	kubernetes.Interface
	resource *client.Client
}

// ResourceV1 implements kubernetes.Interface.
func (c anyVersion) ResourceV1() typedresourcev1.ResourceV1Interface { return c.resource }

// NewReader starts to read. It waits for nothing, see Ready. Feature gates must have been set.
func NewReader(kube kubernetes.Interface) (*Reader, error) {
	ctx := context.Background()
	group := client.New(kube)
	factory := informers.NewSharedInformerFactory(anyVersion{Interface: kube, resource: group}, 0)
	resources := factory.Resource().V1()
	claims, classes, slices := resources.ResourceClaims(), resources.DeviceClasses(), resources.ResourceSlices()
	options := tracker.Options{SliceInformer: slices, KubeClient: kube}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaints) {
		options.EnableDeviceTaints = true
		options.TaintInformer, options.ClassInformer = factory.Resource().V1alpha3().DeviceTaintRules(), classes
	}
	published, err := tracker.StartTracker(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start to read ResourceSlices: %w", err)
	}
	assumed := assumecache.NewAssumeCache(klog.FromContext(ctx), claims.Informer(), "ResourceClaim", "", nil)
	r := &Reader{
		client:    group,
		manager:   dynamicresources.NewDRAManager(ctx, assumed, published, factory),
		claims:    claims.Lister(),
		templates: resources.ResourceClaimTemplates().Lister(),
		classes:   classes.Lister(),
		synced: []cache.InformerSynced{
			claims.Informer().HasSynced, resources.ResourceClaimTemplates().Informer().HasSynced, classes.Informer().HasSynced, published.HasSynced,
		},
		celCache: cel.NewCache(100, cel.Features{EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity)}),
	}
	outdate := func(any) { r.stale.Store(true) }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: outdate, UpdateFunc: func(any, any) { r.stale.Store(true) }, DeleteFunc: outdate}
	if _, err := published.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("start to read ResourceSlices: %w", err)
	}
	if _, err := classes.Informer().AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("start to read DeviceClasses: %w", err)
	}
	factory.Start(ctx.Done())
	return r, nil
}

// Ready reports whether all has been read that was there at the start.
func (r *Reader) Ready() bool {
	if r.caughtUp {
		return true
	}
	for _, synced := range r.synced {
		if !synced() {
			return false
		}
	}
	claims, err := r.claims.List(labels.Everything())
	if err != nil {
		return false
	}
	for _, claim := range claims {
		if _, err := r.manager.ResourceClaims().Get(claim.Namespace, claim.Name); err != nil {
			return false
		}
	}
	r.caughtUp, r.served = true, r.client.CurrentAPI()
	return true
}

// Served is the version of resource.k8s.io that is in use: V1, V1beta2 or V1beta1. It is not known
// before the reader is ready.
func (r *Reader) Served() string { return r.served }

// Claims returns all claims.
func (r *Reader) Claims() ([]*resourceapi.ResourceClaim, error) {
	return r.manager.ResourceClaims().List()
}

// Claim returns a claim, with an allocation by this scheduler that the API server has confirmed
// but not told of yet.
func (r *Reader) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	claim, err := r.manager.ResourceClaims().Get(namespace, name)
	if err != nil {
		// The manager's errors for what it does not have are its own.
		return r.claims.ResourceClaims(namespace).Get(name)
	}
	return claim, nil
}

// ClaimTemplate returns a template.
func (r *Reader) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return r.templates.ResourceClaimTemplates(namespace).Get(name)
}

// Catalog returns what is published of devices: the same catalog as long as nothing changes.
func (r *Reader) Catalog() *dra.Catalog {
	if !r.stale.Swap(false) && r.catalog != nil {
		return r.catalog
	}
	slices, err := r.manager.ResourceSlices().ListWithDeviceTaintRules()
	classes, classesErr := r.classes.List(labels.Everything())
	if err != nil || classesErr != nil {
		klog.ErrorS(err, "Failed to list what is published of devices", "classes", classesErr)
		r.stale.Store(true)
		return r.catalog
	}
	r.catalog = dra.NewCatalog(classes, slices)
	return r.catalog
}

// allocator is Pending.Allocator, which sees to it that nothing is overlooked.
func (r *Reader) allocator(catalog *dra.Catalog) (*dra.Allocator, error) {
	taken, err := r.manager.ResourceClaims().GatherAllocatedState()
	if err != nil {
		return nil, fmt.Errorf("find out which devices are in use: %w", err)
	}
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return dra.NewAllocator(structured.Features{
		AdminAccess:          enabled(features.DRAAdminAccess),
		ConsumableCapacity:   enabled(features.DRAConsumableCapacity),
		DeviceTaints:         enabled(features.DRADeviceTaints),
		PartitionableDevices: enabled(features.DRAPartitionableDevices),
		PrioritizedList:      enabled(features.DRAPrioritizedList),
	}, catalog, *taken, r.celCache), nil
}
