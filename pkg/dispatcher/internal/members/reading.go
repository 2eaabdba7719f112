// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/client"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
)

// reading reads the cards and devices of a member through one connection, until it is stopped.
type reading struct {
	factory   informers.SharedInformerFactory
	informers map[string]cache.SharedIndexInformer
	cancel    context.CancelFunc
	done      sync.WaitGroup
	wake      func()

	mu       sync.Mutex
	failures map[string]failure
	synced   map[string]cache.InformerSynced
	cards    *cardCount
	devices  *deviceCount
	// claims are those that have changed since they were counted last. The value is nil for one that is gone.
	claims map[string]*resourceapi.ResourceClaim
	// catalogChanged says that slices or classes have changed, changed that anything has.
	catalogChanged, changed bool
	// classes are those that were counted last.
	classes []string
}

// failure is why a resource could not be read last, and what had been read then.
type failure struct {
	err     error
	version string
	synced  bool
}

// anyVersion reads resource.k8s.io in whichever version the member serves.
type anyVersion struct {
	kubernetes.Interface
	resource *client.Client
}

// ResourceV1 implements kubernetes.Interface.
func (c anyVersion) ResourceV1() typedresourcev1.ResourceV1Interface { return c.resource }

// livePods selects the pods that have a node and have not ended.
const livePods = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

// read begins to read a member. It calls wake after each change.
func read(ctx context.Context, kube kubernetes.Interface, names card.ResourceNames, wake func()) (*reading, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(anyVersion{kube, client.New(kube)}, 0, informers.WithTransform(strip))
	r := &reading{
		factory: factory, wake: wake, failures: map[string]failure{}, synced: map[string]cache.InformerSynced{}, cards: newCardCount(names), devices: newDeviceCount(),
		claims: map[string]*resourceapi.ResourceClaim{}, catalogChanged: true, changed: true,
	}
	resources := factory.Resource().V1()
	pods := coreinformers.NewFilteredPodInformer(kube, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) { o.FieldSelector = livePods })
	r.informers = map[string]cache.SharedIndexInformer{
		"nodes": factory.Core().V1().Nodes().Informer(), "pods": pods, "deviceclasses": resources.DeviceClasses().Informer(),
		"resourceslices": resources.ResourceSlices().Informer(), "resourceclaims": resources.ResourceClaims().Informer(),
	}
	outdate := func(string, any) { r.catalogChanged = true }
	for name, set := range map[string]func(key string, object any){
		"nodes": r.setNode, "pods": r.setPod, "deviceclasses": outdate, "resourceslices": outdate, "resourceclaims": r.setClaim,
	} {
		if err := r.handle(name, set); err != nil {
			return nil, err
		}
	}
	if err := pods.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	ctx, r.cancel = context.WithCancel(ctx)
	factory.Start(ctx.Done())
	r.done.Go(func() { pods.RunWithContext(ctx) })
	r.done.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), slices.Collect(maps.Values(r.synced))...) {
			wake()
		}
	})
	return r, nil
}

// handle makes a resource call set for each change, with a nil object for one that is gone.
func (r *reading) handle(name string, set func(key string, object any)) error {
	informer := r.informers[name]
	change := func(object any, gone bool) {
		key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
		if err != nil {
			klog.ErrorS(err, "An object of a member cluster has no name", "resource", name)
			return
		}
		if gone {
			object = nil
		}
		r.mu.Lock()
		set(key, object)
		r.changed = true
		r.mu.Unlock()
		r.wake()
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { change(object, false) }, UpdateFunc: func(_, object any) { change(object, false) },
		DeleteFunc: func(object any) { change(object, true) },
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.synced[name] = registration.HasSynced
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, reflector *cache.Reflector, err error) {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		klog.V(4).InfoS("A member cluster cannot be read", "resource", name, "reason", err.Error())
		r.mu.Lock()
		r.failures[name] = failure{err: err, version: reflector.LastSyncResourceVersion(), synced: registration.HasSynced()}
		r.mu.Unlock()
		r.wake()
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// stop stops to read, and waits for that.
func (r *reading) stop() {
	r.cancel()
	r.factory.Shutdown()
	r.done.Wait()
}

func (r *reading) setNode(key string, object any) {
	if object == nil {
		r.cards.removeNode(key)
	} else {
		r.cards.setNode(object.(*corev1.Node))
	}
}

func (r *reading) setPod(key string, object any) {
	if object == nil {
		r.cards.removePod(key)
	} else {
		r.cards.setPod(key, object.(*corev1.Pod))
	}
}

func (r *reading) setClaim(key string, object any) {
	claim, _ := object.(*resourceapi.ResourceClaim)
	r.claims[key] = claim
}

// ready reports whether everything has been read once. A member that does not serve resource.k8s.io has no devices.
func (r *reading) ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, synced := range r.synced {
		if !synced() && !apierrors.IsNotFound(r.failures[name].err) {
			return false
		}
	}
	return true
}

// failing says what cannot be read now. It is nil if everything can.
func (r *reading) failing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failures []string
	for name, f := range r.failures {
		if apierrors.IsNotFound(f.err) || r.synced[name]() != f.synced || r.informers[name].LastSyncResourceVersion() != f.version {
			continue
		}
		message := f.err.Error()
		if status := apierrors.APIStatus(nil); errors.As(f.err, &status) {
			message = status.Status().Message
		}
		if apierrors.IsForbidden(f.err) {
			message += ": allow it to the user of the cluster's Secret"
		}
		failures = append(failures, name+" cannot be read: "+message)
	}
	if len(failures) == 0 {
		return nil
	}
	slices.Sort(failures)
	return errors.New(strings.Join(failures, "; "))
}

// count returns the report of what has been read, or the last one if nothing has changed since.
func (r *reading) count(last *hardware, names []string) *hardware {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.changed && slices.Equal(names, r.classes) {
		return last
	}
	if r.catalogChanged || !slices.Equal(names, r.classes) {
		r.countDevices(names)
	} else {
		for key, claim := range r.claims {
			r.devices.set(key, claim)
		}
	}
	clear(r.claims)
	r.changed, r.catalogChanged, r.classes = false, false, names
	amounts := maps.Clone(r.cards.amounts)
	for d, f := range r.devices.amounts {
		amounts.plus(d, f.total, f.used)
	}
	return &hardware{looked: true, amounts: amounts, classes: r.devices.classes, shared: maps.Clone(r.devices.shared)}
}

func (r *reading) countDevices(names []string) {
	resources := r.factory.Resource().V1()
	classes, _ := resources.DeviceClasses().Lister().List(labels.Everything())
	published, _ := resources.ResourceSlices().Lister().List(labels.Everything())
	claims := map[string]*resourceapi.ResourceClaim{}
	all, _ := resources.ResourceClaims().Lister().List(labels.Everything())
	for _, claim := range all {
		claims[claim.Namespace+"/"+claim.Name] = claim
	}
	r.devices.use(dra.NewCatalog(classes, published), names, claims)
}
