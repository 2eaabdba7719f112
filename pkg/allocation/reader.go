// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
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
	"github.com/devicequota/devicequota/pkg/readiness"
)

// Reader reads the objects of resource.k8s.io, in any version that the API server serves. It keeps them up to date until the context of
// NewReader ends. Only one goroutine at a time may call Ready and Catalog. The other methods are safe for concurrent use.
type Reader struct {
	factory   informers.SharedInformerFactory
	published *tracker.Tracker
	api       *anyVersion
	manager   k8sframework.SharedDRAManager
	claims    resourcelisters.ResourceClaimLister
	// extended indexes extended claims by the UID of their owner pod.
	extended  cache.Indexer
	templates resourcelisters.ResourceClaimTemplateLister
	classes   resourcelisters.DeviceClassLister
	synced    []cache.InformerSynced
	holders   *holders
	lost      *lost
	versions  *versions
	waiters   *waiters
	// served is the version of the API server at the start, in the client's spelling.
	served string
	// ready is set when everything has synced.
	ready bool

	// stale says that a DeviceClass or a ResourceSlice has changed since the catalog was built.
	stale    atomic.Bool
	catalog  *dra.Catalog
	celCache *cel.Cache
	matcher  *dra.Matcher
}

// anyVersion is a client that reads and writes resource.k8s.io/v1 even if the API server serves only v1beta2 (Kubernetes 1.33)
// or v1beta1 (Kubernetes 1.32).
type anyVersion struct {
	kubernetes.Interface
	converting *client.Client
	// v1 says that the API server serves v1. The converting client asks for the next version if an object is not found, stays with the version that
	// gives another error, and loses the fields that v1beta1 lacks: a device that allows multiple allocations would be given to one claim.
	v1 atomic.Bool
}

// ResourceV1 implements kubernetes.Interface.
func (c *anyVersion) ResourceV1() typedresourcev1.ResourceV1Interface {
	if c.v1.Load() {
		return c.Interface.ResourceV1()
	}
	return c.converting
}

// NewReader returns a reader that reads until ctx ends, see also Shutdown. It does not wait for the first objects, see Ready. It adds
// its informers to depends. pods is the scheduler's informer of pods. It provides the users of deleted claims. Set feature gates before
// the call.
func NewReader(ctx context.Context, kube kubernetes.Interface, depends *readiness.Informers, pods coreinformers.PodInformer) (*Reader, error) {
	api := &anyVersion{Interface: kube, converting: client.New(kube)}
	factory := informers.NewSharedInformerFactory(api, 0)
	resources := factory.Resource().V1()
	claims, templates, classes := resources.ResourceClaims(), resources.ResourceClaimTemplates(), resources.DeviceClasses()
	options := tracker.Options{SliceInformer: resources.ResourceSlices(), KubeClient: kube}
	read := map[string]cache.SharedInformer{
		"resourceclaims": claims.Informer(), "resourceclaimtemplates": templates.Informer(), "deviceclasses": classes.Informer(),
		"resourceslices": options.SliceInformer.Informer(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaints) {
		options.EnableDeviceTaints = true
		rules, turn := newTaintRules(kube, factory), &sync.Mutex{}
		read["devicetaintrules"] = rules.informer
		options.SliceInformer = slicesInTurn{options.SliceInformer, newInTurn(options.SliceInformer.Informer(), turn)}
		options.ClassInformer = classesInTurn{classes, newInTurn(classes.Informer(), turn)}
		options.TaintInformer = &taintRules{informer: newInTurn(rules.informer, turn)}
	}
	for resource, informer := range read {
		if err := depends.Add(schema.GroupResource{Group: resourceapi.GroupName, Resource: resource}, informer); err != nil {
			return nil, err
		}
	}
	if err := claims.Informer().AddIndexers(cache.Indexers{byOwner: owningPod, byUID: uidOf}); err != nil {
		return nil, fmt.Errorf("start to read ResourceClaims: %w", err)
	}
	published, err := tracker.StartTracker(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("start to read ResourceSlices: %w", err)
	}
	assumed := assumecache.NewAssumeCache(klog.FromContext(ctx), claims.Informer(), "ResourceClaim", "", nil)
	holders, versions, waiters := newHolders(), newVersions(), newWaiters()
	lost := &lost{existing: claims.Informer().GetIndexer(), pods: pods.Lister(), versions: versions}
	recorded, err := lost.watchPods(pods)
	if err != nil {
		return nil, fmt.Errorf("start to read pods: %w", err)
	}
	// The manager fills its set of devices in use in an event handler of the cache. HasSynced of the cache is true when its
	// handlers have processed every claim that existed at the start.
	assumed.AddEventHandler(lost.handler()) // before the holders, which keep a deleted claim until it is lost
	handled := assumed.AddEventHandler(holders.handler()).HasSynced
	assumed.AddEventHandler(versions.handler())
	assumed.AddEventHandler(waiters.handler())
	r := &Reader{
		factory: factory, published: published, api: api, holders: holders, lost: lost, versions: versions, waiters: waiters,
		manager: dynamicresources.NewDRAManager(ctx, assumed, published, factory),
		claims:  claims.Lister(), extended: claims.Informer().GetIndexer(), templates: templates.Lister(), classes: classes.Lister(),
		synced:   []cache.InformerSynced{handled, templates.Informer().HasSynced, classes.Informer().HasSynced, published.HasSynced, recorded.HasSynced},
		celCache: newCELCache(), matcher: dra.NewMatcher(newCELCache()),
	}
	if err := r.watchCatalog(classes.Informer()); err != nil {
		published.Stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	return r, nil
}

func newCELCache() *cel.Cache {
	return cel.NewCache(100, cel.Features{EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity)})
}

// watchCatalog marks the catalog as stale whenever a DeviceClass or a ResourceSlice changes.
func (r *Reader) watchCatalog(classes cache.SharedIndexInformer) error {
	outdate := func(any) { r.stale.Store(true) }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: outdate, UpdateFunc: func(any, any) { r.stale.Store(true) }, DeleteFunc: outdate}
	ofSlices, err := r.published.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("start to read ResourceSlices: %w", err)
	}
	ofClasses, err := classes.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("start to read DeviceClasses: %w", err)
	}
	r.synced = append(r.synced, ofSlices.HasSynced, ofClasses.HasSynced)
	return nil
}

// WatchClaims calls a handler for all claims in the API server and their changes.
func (r *Reader) WatchClaims(handler cache.ResourceEventHandler) error {
	_, err := r.factory.Resource().V1().ResourceClaims().Informer().AddEventHandler(handler)
	return err
}

// Shutdown blocks until every goroutine of the reader has ended. They end with the context of NewReader.
func (r *Reader) Shutdown() {
	r.factory.Shutdown()
	r.published.Stop()
}

// Ready reports whether the reader has every object that existed when it started.
func (r *Reader) Ready() bool {
	if r.ready {
		return true
	}
	if slices.ContainsFunc(r.synced, func(synced cache.InformerSynced) bool { return !synced() }) {
		return false
	}
	r.ready, r.served = true, r.api.converting.CurrentAPI() // until now, it has only listed what exists
	r.api.v1.Store(r.served == "V1")
	return true
}

// AwaitClaims waits until the reader has every claim that existed when it started. It returns false if ctx ends first. It may be
// called concurrently with Ready.
func (r *Reader) AwaitClaims(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), r.synced[0])
}

// Served returns the version of resource.k8s.io that the API server serves: V1, V1beta2 or V1beta1.
// It is empty before the reader is ready.
func (r *Reader) Served() string { return r.served }

// Claims returns all claims, in no particular order.
func (r *Reader) Claims() ([]*resourceapi.ResourceClaim, error) {
	return r.manager.ResourceClaims().List()
}

// Allocated returns the claims with an allocation, in no particular order. It includes deleted claims whose devices pods still use.
func (r *Reader) Allocated() ([]*resourceapi.ResourceClaim, error) {
	claims, err := r.Claims()
	if err != nil {
		return nil, err
	}
	claims = slices.DeleteFunc(claims, func(claim *resourceapi.ResourceClaim) bool { return claim.Status.Allocation == nil })
	gone := r.holders.besides(claims)
	for _, claim := range r.lost.all() {
		if !slices.ContainsFunc(gone, func(other *resourceapi.ResourceClaim) bool { return other.UID == claim.UID }) {
			gone = append(gone, claim)
		}
	}
	return append(claims, gone...), nil
}

// LostClaims returns the deleted claims whose devices a pod still uses.
func (r *Reader) LostClaims(pod types.UID) []*resourceapi.ResourceClaim { return r.lost.of(pod) }

// Claim returns a claim. It includes an allocation written by this scheduler even before the watch delivers it. If the claim
// does not exist, apierrors.IsNotFound recognizes the error.
func (r *Reader) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	claim, err := r.manager.ResourceClaims().Get(namespace, name)
	if err != nil {
		// Unlike the lister, the manager does not return the API's NotFound errors.
		return r.claims.ResourceClaims(namespace).Get(name)
	}
	return claim, nil
}

// ClaimTemplate returns a template. If the template does not exist, apierrors.IsNotFound recognizes the error.
func (r *Reader) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return r.templates.ResourceClaimTemplates(namespace).Get(name)
}

// Catalog returns the current DeviceClasses and ResourceSlices. It returns the same catalog until one of them changes. It is
// nil if they were never listed.
func (r *Reader) Catalog() *dra.Catalog {
	if !r.stale.Swap(false) && r.catalog != nil {
		return r.catalog
	}
	slices, err := r.manager.ResourceSlices().ListWithDeviceTaintRules()
	classes, classesErr := r.classes.List(labels.Everything())
	if err != nil || classesErr != nil {
		klog.ErrorS(err, "Failed to list ResourceSlices or DeviceClasses", "classesError", classesErr)
		r.stale.Store(true)
		return r.catalog
	}
	catalog := dra.NewCatalog(classes, slices)
	catalog.Inherit(r.catalog)
	r.catalog = catalog
	r.versions.keep(r.catalog)
	return r.catalog
}

// Conflicts returns the devices with more claims than sharing allows, according to a catalog.
func (r *Reader) Conflicts(catalog *dra.Catalog) []dra.Conflict {
	r.holders.use(catalog)
	return r.holders.all()
}

// ConflictOf returns a conflict for which an allocated claim must give up its devices, or nil.
func (r *Reader) ConflictOf(claim *resourceapi.ResourceClaim, settled func(*resourceapi.ResourceClaim) bool) *dra.Conflict {
	return r.holders.of(claim, settled)
}

// DevicesVersion returns a number that grows with every allocation and release of a device, including pending ones.
func (r *Reader) DevicesVersion() uint64 { return r.versions.latest() }

// DevicesVersionOn returns the DevicesVersion after the last change of a device that a node may reach. While it and the catalog stay the
// same, the same devices are free for the node.
func (r *Reader) DevicesVersionOn(node string, catalog *dra.Catalog) uint64 {
	return r.versions.on(node, catalog)
}

// Matcher returns the matcher that finds the classes of a device. It is always the same object, so it can remember results.
func (r *Reader) Matcher() *dra.Matcher { return r.matcher }

// allocator returns an allocator with no devices in use. Pending.Allocator adds them.
func (r *Reader) allocator(catalog *dra.Catalog) *dra.Allocator {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	return dra.NewAllocator(structured.Features{
		AdminAccess:          enabled(features.DRAAdminAccess),
		ConsumableCapacity:   enabled(features.DRAConsumableCapacity),
		DeviceBinding:        waitsForConditions(),
		DeviceStatus:         waitsForConditions(), // without DeviceBinding, it would choose a less stable allocator
		DeviceTaints:         enabled(features.DRADeviceTaints),
		PartitionableDevices: enabled(features.DRAPartitionableDevices),
		PrioritizedList:      enabled(features.DRAPrioritizedList),
	}, catalog, r.celCache)
}
