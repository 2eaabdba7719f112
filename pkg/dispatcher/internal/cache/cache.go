// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadainformers "github.com/karmada-io/karmada/pkg/generated/informers/externalversions"
	clusterinformers "github.com/karmada-io/karmada/pkg/generated/informers/externalversions/cluster/v1alpha1"
	worklisters "github.com/karmada-io/karmada/pkg/generated/listers/work/v1alpha2"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	volcanoinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	queueinformers "github.com/devicequota/devicequota/pkg/client/informers/externalversions"
	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/queueschema"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// Cache has all objects that the dispatcher reads.
type Cache struct {
	// CardQuotaRequired is the argument of the plugin capacity. It must be set before anything is read.
	CardQuotaRequired bool
	// OfBindings and OfWorkloads count for the webhooks for bindings and for workloads.
	OfBindings, OfWorkloads *Webhook

	clients   *Clients
	config    *framework.Config
	readiness *readiness.Informers
	factories []starter

	bindingInformer cache.SharedIndexInformer
	workInformer    cache.SharedIndexInformer
	bindings        worklisters.ResourceBindingLister
	clusterInformer clusterinformers.ClusterInformer
	queues          queuelisters.QueueLister
	queueSchema     *queueSchema
	priorityClasses schedulinglisters.PriorityClassLister
	classes         resourcelisters.DeviceClassLister
	templates       resourcelisters.ResourceClaimTemplateLister
	claims          resourcelisters.ResourceClaimLister
	assumed         *assumed
	places          places
	objects         *objects
	// optional are the kinds that the API server may not serve.
	optional []*optional

	// changed has an element if something has changed since the last snapshot.
	changed chan struct{}
	// changes has the objects and the Works that have changed since the last snapshot.
	changes  changes
	appeared appeared
	// clustersChanged counts changes of clusters.
	clustersChanged atomic.Int64
	// ofClaims counts many workloads for each request.
	ofClaims *Webhook
	mapper   meta.RESTMapper

	// The following fields belong to the goroutine that takes snapshots.
	counter *needs.Counter
	known   map[types.UID]*known
	// order has all known bindings: first in the order of the last snapshot, then new ones.
	order []*known
	round uint64
	// lost has the needs of the objects that Karmada has lost, by their templates, which stay the same until a member is asked again.
	lost map[*workload.Template]*needs.Counted
}

// starter is a factory of informers.
type starter interface {
	Start(stop <-chan struct{})
	Shutdown()
}

// New returns a cache. It reads nothing before Run.
func New(clients *Clients, config *framework.Config) (*Cache, error) {
	c := &Cache{
		clients: clients, config: config, readiness: cmp.Or(clients.Informers, readiness.NewInformers(clock.RealClock{})), assumed: newAssumed(), queueSchema: newQueueSchema(),
		changed: make(chan struct{}, 1), counter: needs.New(), known: map[types.UID]*known{},
	}
	c.OfBindings, c.OfWorkloads, c.ofClaims = newWebhook(c), newWebhook(c), newWebhook(c)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clients.Kubernetes.Discovery()))
	core := informers.NewSharedInformerFactoryWithOptions(clients.Kubernetes, 0, informers.WithTransform(withoutManagedFields))
	karmada := karmadainformers.NewSharedInformerFactoryWithOptions(clients.Karmada, 0, karmadainformers.WithTransform(withoutManagedFields))
	queues := queueinformers.NewSharedInformerFactoryWithOptions(clients.Queues, 0, queueinformers.WithTransform(withoutManagedFields))
	works := karmadainformers.NewSharedInformerFactoryWithOptions(clients.Karmada, 0, karmadainformers.WithTransform(withoutManifests))
	c.addOptional()

	c.bindingInformer = karmada.Work().V1alpha2().ResourceBindings().Informer()
	c.bindings = karmada.Work().V1alpha2().ResourceBindings().Lister()
	c.clusterInformer = karmada.Cluster().V1alpha1().Clusters()
	queues.InformerFor(&schedulingv1beta1.Queue{}, func(client versioned.Interface, resync time.Duration) cache.SharedIndexInformer {
		return queueschema.NewInformer(client, resync, c.queueSchema.untilOutdated)
	})
	c.queues = queues.Scheduling().V1beta1().Queues().Lister()
	c.priorityClasses = core.Scheduling().V1().PriorityClasses().Lister()
	c.workInformer = works.Work().V1alpha1().Works().Informer()
	c.factories = []starter{core, karmada, queues, works}

	anything := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.change() }, UpdateFunc: func(_, _ any) { c.change() }, DeleteFunc: func(any) { c.change() },
	}
	sources := []source{
		{worksResource, c.workInformer, c.noting(bindingOf)},
		{bindingsResource, c.bindingInformer, c.bindingHandler()},
		{clustersResource, c.clusterInformer.Informer(), c.clusterHandler()},
		{queuesResource, queues.Scheduling().V1beta1().Queues().Informer(), anything},
		{priorityClassesResource, core.Scheduling().V1().PriorityClasses().Informer(), anything},
	}
	for _, informer := range []cache.SharedIndexInformer{c.workInformer, c.bindingInformer} {
		if err := informer.AddIndexers(permanentIDs); err != nil {
			return nil, err
		}
	}
	for _, s := range sources {
		if err := c.watch(s); err != nil {
			return nil, err
		}
	}
	for _, o := range c.optional {
		if _, err := o.informer.AddEventHandler(c.noting(uidOf)); err != nil {
			return nil, err
		}
		if o.gvk.Group == resourceapi.GroupName {
			if _, err := o.informer.AddEventHandler(c.appeared.handler(c.change)); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// addOptional adds the informers of kinds that the API server may not serve. Each is started separately.
func (c *Cache) addOptional() {
	core := informers.NewSharedInformerFactoryWithOptions(c.clients.Kubernetes, 0, informers.WithTransform(withoutManagedFields))
	volcano := volcanoinformers.NewSharedInformerFactoryWithOptions(c.clients.Volcano, 0, volcanoinformers.WithTransform(withoutManagedFields))
	kinds := kindsOf(c.clients, core, volcano)
	c.objects = newObjects(kinds)
	for _, k := range kinds {
		c.optional = append(c.optional, &k.optional)
	}
	devices := core.Resource().V1()
	c.classes, c.templates, c.claims = devices.DeviceClasses().Lister(), devices.ResourceClaimTemplates().Lister(), devices.ResourceClaims().Lister()
	c.optional = append(c.optional,
		&optional{gvk: resourceapi.SchemeGroupVersion.WithKind("DeviceClass"), informer: devices.DeviceClasses().Informer()},
		&optional{gvk: resourceapi.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), informer: devices.ResourceClaimTemplates().Informer()},
		&optional{gvk: resourceapi.SchemeGroupVersion.WithKind("ResourceClaim"), informer: devices.ResourceClaims().Informer()})
}

// source is a resource that must be read before the dispatcher decides.
type source struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandler
}

func (c *Cache) watch(s source) error {
	if err := c.readiness.Add(s.resource.GroupResource(), s.informer); err != nil {
		return err
	}
	_, err := s.informer.AddEventHandler(s.handler)
	return err
}

// Queues reads queues.
func (c *Cache) Queues() queuelisters.QueueLister { return c.queues }

// Clusters reads clusters.
func (c *Cache) Clusters() clusterinformers.ClusterInformer { return c.clusterInformer }

// Change makes Changed deliver, because something outside the cache has changed that decisions depend on.
func (c *Cache) Change() { c.change() }

// change notes that a new snapshot may differ from the last one.
func (c *Cache) change() {
	select {
	case c.changed <- struct{}{}:
	default: // it is noted already
	}
}

// Changed delivers when something has changed since its last delivery.
func (c *Cache) Changed() <-chan struct{} { return c.changed }

// Ready returns nil if everything has been read. Otherwise, the error says what has not.
func (c *Cache) Ready() error {
	errs := []error{c.readiness.Err()}
	for _, o := range c.optional {
		errs = append(errs, o.notRead())
	}
	return errors.Join(errs...)
}

// clusterHandler counts the changes that affect which clusters a placement may choose, and which of them can be told what to run. It ignores others,
// such as heartbeats, which come all the time.
func (c *Cache) clusterHandler() cache.ResourceEventHandler {
	count := func(any) {
		c.clustersChanged.Add(1)
		c.change()
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: count, DeleteFunc: count,
		UpdateFunc: func(before, after any) {
			was, is := before.(*clusterv1alpha1.Cluster), after.(*clusterv1alpha1.Cluster)
			if !maps.Equal(was.Labels, is.Labels) || framework.Ready(was) != framework.Ready(is) {
				count(after)
			}
		},
	}
}

func (c *Cache) bindingHandler() cache.ResourceEventHandler {
	shows := func(object any) {
		rb := object.(*workv1alpha2.ResourceBinding)
		c.assumed.shows(rb)
		c.notePlaces(rb)
		c.change()
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: shows, UpdateFunc: func(_, after any) { shows(after) },
		DeleteFunc: func(object any) {
			if rb, ok := readiness.LastState(object).(*workv1alpha2.ResourceBinding); ok {
				c.assumed.forget(rb.UID)
				c.places.forget(rb.UID)
			}
			c.change()
		},
	}
}

// Run reads objects until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	for _, factory := range c.factories {
		factory.Start(ctx.Done())
	}
	var reading sync.WaitGroup
	reading.Go(func() { c.watchSchema(ctx) })
	for _, o := range c.optional {
		reading.Go(func() { o.run(ctx, c.clients.Kubernetes.Discovery()) })
	}
	<-ctx.Done()
	reading.Wait()
	for _, factory := range c.factories {
		factory.Shutdown()
	}
	return nil
}

// WaitForSync returns when everything has been read. If ctx ends first, the error says what has not been read.
func (c *Cache) WaitForSync(ctx context.Context) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := c.Ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-poll.C:
		}
	}
}

// Wrote records the API server's answer to a write.
func (c *Cache) Wrote(rb *workv1alpha2.ResourceBinding) {
	c.notePlaces(rb)
	c.assumed.add(rb)
	c.change()
}
