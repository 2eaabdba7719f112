// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	clusterinformers "github.com/karmada-io/karmada/pkg/generated/informers/externalversions/cluster/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Options are what Members needs.
type Options struct {
	// Secrets reads the Secrets that Cluster objects refer to, on the control plane.
	Secrets kubernetes.Interface
	// Connect makes the client of a member. Nil means kubernetes.NewForConfig.
	Connect func(*rest.Config) (kubernetes.Interface, error)
	// CardResources are the resources that stand for cards: see card.Read.
	CardResources card.ResourceNames
	// Changed is called whenever a cluster may have more room than before. It must not block. Nil is allowed.
	Changed func()
	// Notify is called when the cards and devices of a cluster cannot be read, and when they can be read again. The arguments
	// are those of an event. It must not block. Nil is allowed.
	Notify func(cluster *clusterv1alpha1.Cluster, eventType, reason, message string)
}

// Members knows the clusters of a control plane.
type Members struct {
	options Options
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu       sync.Mutex
	ctx      context.Context
	clusters map[string]*cluster
	watchers map[string]*watcher
	wanted   wanted

	// The rest belongs to the goroutine that opens sessions.

	session    uint64
	dimensions *ledger.Dimensions
	// places are sorted by name.
	places    []*place
	selectors selectors
	arrivals  map[types.UID][]arrival
}

// wanted is what sessions ask members for.
type wanted struct {
	// any says that some dimension is of cards or devices.
	any bool
	// classes are the DeviceClasses of all dimensions, sorted.
	classes []string
}

// New returns Members that knows no cluster yet.
func New(options Options) *Members {
	if options.Connect == nil {
		options.Connect = func(config *rest.Config) (kubernetes.Interface, error) { return kubernetes.NewForConfig(config) }
	}
	if options.Changed == nil {
		options.Changed = func() {}
	}
	if options.Notify == nil {
		options.Notify = func(*clusterv1alpha1.Cluster, string, string, string) {}
	}
	return &Members{options: options, clusters: map[string]*cluster{}, watchers: map[string]*watcher{}, arrivals: map[types.UID][]arrival{}}
}

// Start begins to follow the clusters of an informer, which it does not start, until ctx ends or Shutdown is called. The result
// says whether all clusters of the beginning are known.
func (m *Members) Start(ctx context.Context, clusters clusterinformers.ClusterInformer) (cache.InformerSynced, error) {
	m.ctx, m.stop = context.WithCancel(ctx)
	registration, err := clusters.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { m.set(object.(*clusterv1alpha1.Cluster)) },
		UpdateFunc: func(_, object any) { m.set(object.(*clusterv1alpha1.Cluster)) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				m.remove(name)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("follow clusters: %w", err)
	}
	return registration.HasSynced, nil
}

// Shutdown stops to read members, and waits for that.
func (m *Members) Shutdown() {
	m.mu.Lock()
	if m.stop != nil {
		m.stop()
	}
	m.mu.Unlock()
	m.done.Wait()
}

func (m *Members) set(object *clusterv1alpha1.Cluster) {
	defer m.options.Changed()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	m.clusters[object.Name] = newCluster(object)
	w := m.watchers[object.Name]
	if w == nil {
		w = newWatcher(m.options, m.wanted)
		m.watchers[object.Name] = w
		ctx, cancel := context.WithCancel(m.ctx)
		w.cancel = cancel
		m.done.Go(func() { w.run(ctx) })
	}
	w.follow(object)
}

func (m *Members) remove(name string) {
	defer m.options.Changed()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, name)
	if w := m.watchers[name]; w != nil {
		w.cancel()
		delete(m.watchers, name)
	}
}

// want tells the watchers what the dimensions ask for. Nobody is asked for cards and devices that no dimension has.
func (m *Members) want(dimensions *ledger.Dimensions) {
	var next wanted
	classes := map[string]bool{}
	for o := range ledger.Ordinal(dimensions.Len()) {
		d := dimensions.Dimension(o)
		next.any = next.any || d.Kind == ledger.Card || d.Kind.OfClass()
		if d.Kind.OfClass() {
			classes[d.Name] = true
		}
	}
	next.classes = slices.Sorted(maps.Keys(classes))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wanted.any == next.any && slices.Equal(m.wanted.classes, next.classes) {
		return
	}
	m.wanted = next
	for _, w := range m.watchers {
		w.want(next)
	}
}

// refreshPlaces makes places of the clusters as they are now.
func (m *Members) refreshPlaces(sameDimensions bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places = slices.DeleteFunc(m.places, func(p *place) bool { return m.clusters[p.object.Name] == nil })
	for name, c := range m.clusters {
		p := m.place(name)
		if p == nil {
			p = &place{cluster: &cluster{object: c.object}}
			m.places = append(m.places, p)
			slices.SortFunc(m.places, comparePlaces)
		}
		p.refresh(c, m.watchers[name].hardware(), m.dimensions, sameDimensions)
	}
}

// place returns the place of a cluster, nil if there is none of that name.
func (m *Members) place(name string) *place {
	at, found := slices.BinarySearchFunc(m.places, name, func(p *place, name string) int { return strings.Compare(p.object.Name, name) })
	if !found {
		return nil
	}
	return m.places[at]
}

func comparePlaces(a, b *place) int { return strings.Compare(a.object.Name, b.object.Name) }
