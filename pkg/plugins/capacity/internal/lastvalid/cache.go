// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/pkg/client/informers/externalversions"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/queueschema"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// Cache knows the quotas of all queues. It outlives sessions.
type Cache struct {
	queues schedulinglisters.QueueLister
	synced func() bool
	// mu guards known, schema, and outdated, which sessions share with the background.
	mu     sync.Mutex
	known  map[string]*knownQuotas
	schema schema
	// outdated is closed, and replaced, when the API server begins to serve spec.dra.
	outdated chan struct{}

	// asked has an entry if a session waits for a probe.
	asked chan struct{}
	// work has the names of queues that the writer must process.
	work workqueue.TypedRateLimitingInterface[string]

	client    versioned.Interface
	recorder  record.EventRecorder
	clock     clock.WithTicker
	servesDRA func(context.Context) (bool, error)
	// background are the goroutines that run until the context of Start ends.
	background sync.WaitGroup
	informers  externalversions.SharedInformerFactory
}

const (
	// firstRetry and lastRetry are the shortest and the longest delay before a failed write is retried.
	firstRetry, lastRetry = 50 * time.Millisecond, 5 * time.Minute
	// requestsPerSecond and burst limit the requests, because a first start writes to each queue with a quota.
	requestsPerSecond, burst = 20, 100
)

var errNotRead = errors.New("its quota has not been read from the API server yet")

// New returns a cache that does not write or probe until it is started.
func New(queues schedulinglisters.QueueLister) *Cache {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry)
	return &Cache{
		queues: queues, synced: func() bool { return true }, known: map[string]*knownQuotas{},
		outdated: make(chan struct{}), asked: make(chan struct{}, 1), work: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// Start starts to read queues, to probe, and to write. It does not block, see Synced. It calls news if the quota of a queue has changed. Everything ends when
// ctx ends.
func Start(
	ctx context.Context, config *rest.Config, readiness *readiness.Informers, recorder record.EventRecorder, clock clock.WithTicker, news func(),
) (*Cache, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, burst
	config.Wrap(readiness.Transport)
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for queues: %w", err)
	}
	informers := externalversions.NewSharedInformerFactory(client, 0)
	queues := informers.Scheduling().V1beta1().Queues()
	c := New(nil)
	informers.InformerFor(&schedulingv1beta1.Queue{}, c.newInformer)
	c.queues = queues.Lister()
	c.synced, c.informers = queues.Informer().HasSynced, informers
	c.client, c.recorder, c.clock = client, recorder, clock
	c.servesDRA = func(ctx context.Context) (bool, error) {
		return queueschema.ServesDRA(ctx, client.SchedulingV1beta1().RESTClient())
	}
	if err := readiness.Add(schedulingv1beta1.Resource("queues"), queues.Informer()); err != nil {
		klog.ErrorS(err, "Failed to watch for errors of queues, only the log says whether they can be read")
	}
	if err := announce(queues.Informer(), news); err != nil {
		return nil, fmt.Errorf("watch for changes of quotas: %w", err)
	}
	informers.Start(ctx.Done())
	c.run(ctx)
	return c, nil
}

func announce(queues toolscache.SharedInformer, news func()) error {
	_, err := queues.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { news() }, DeleteFunc: func(any) { news() },
		UpdateFunc: func(before, after any) {
			if !sameQuotas(before.(*schedulingv1beta1.Queue), after.(*schedulingv1beta1.Queue)) {
				news()
			}
		},
	})
	return err
}

// newInformer returns an informer that lists all queues again when spec.dra is back.
func (c *Cache) newInformer(client versioned.Interface, resync time.Duration) toolscache.SharedIndexInformer {
	return queueschema.NewInformer(client, resync, func() <-chan struct{} {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.outdated
	})
}

func (c *Cache) run(ctx context.Context) {
	c.background.Go(func() { c.watchSchema(ctx) })
	c.background.Go(func() { c.write(ctx) })
	c.background.Go(func() {
		<-ctx.Done()
		c.work.ShutDown()
	})
}

// Shutdown waits for all goroutines of the cache. The context passed to Start must have ended.
func (c *Cache) Shutdown() {
	c.work.ShutDown()
	c.background.Wait()
	if c.informers != nil {
		c.informers.Shutdown()
	}
}

// Synced reports whether all queues have been read.
func (c *Cache) Synced() bool { return c.synced() }

// Annotations returns the last read annotations of a queue, and whether the queue exists.
func (c *Cache) Annotations(queue string) (map[string]string, bool) {
	object, err := c.queues.Get(queue)
	if err != nil {
		return nil, false
	}
	return object.Annotations, true
}

// Of returns the effective quotas of a queue. It returns an error if the queue has not been read from the API server yet: an
// unread queue is not a queue without limits.
func (c *Cache) Of(name string, uid types.UID, dimensions *ledger.Dimensions) (Quotas, error) {
	object, err := c.queues.Get(name)
	if err != nil || uid != "" && object.UID != uid {
		return Quotas{}, errNotRead
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k, found := c.known[name]
	if !found || k.uid != object.UID {
		k = &knownQuotas{uid: object.UID, present: c.schema.begun}
		c.known[name] = k
	}
	if k.object != nil && k.dimensions != dimensions {
		k.translate(dimensions)
	}
	switch {
	case k.object == nil || !sameQuotas(k.object, object):
		if k.read(object, dimensions, c.schema.begun); !k.upToDate() {
			c.work.Add(name)
		}
	default:
		k.object = object
	}
	if object.Spec.DRA != nil {
		k.present = c.schema.begun
	}
	if k.absence != nil {
		c.confirm(name, k)
	}
	return k.quotas(&c.schema), nil
}

// confirm determines why spec.dra is missing from a queue, and starts the necessary work in the background.
func (c *Cache) confirm(name string, k *knownQuotas) {
	k.judge(k.object.Generation, &c.schema)
	switch a := k.absence; a.verdict {
	case unconfirmed:
		c.ask()
	case removed:
		if k.drop(); !k.upToDate() {
			c.work.Add(name)
		}
	case lost:
		serves := c.schema.servesSince(a.since)
		switch {
		case serves && !a.restoring:
			c.work.Add(name)
		case !serves && !c.schema.lacks():
			c.ask()
		}
		a.restoring = serves
	}
}

// Forget forgets queues that are gone. queues is the number of existing queues.
func (c *Cache) Forget(queues int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) <= queues {
		return
	}
	for name, k := range c.known {
		if object, err := c.queues.Get(name); err != nil || object.UID != k.uid {
			delete(c.known, name)
		}
	}
}
