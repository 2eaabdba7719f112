// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/allocation/allocationtest"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/readiness"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// cluster is the state of the API server. There are the DeviceClasses h100, a100 and bare, and the queues q and r below root.
type cluster struct {
	// devices has the classes of each node's devices, as words. Devices are named h100-0, h100-1 and so on. A device of
	// the class bare also matches the class h100, but has no memory.
	devices map[string]string
	// quotas has the capability of each queue, as words such as h100=2 or h100/memory=80Gi.
	quotas map[string]string
	claims []*resourceapi.ResourceClaim
	// conditions says that all devices have a binding condition Ready and a failure condition Broken.
	conditions bool
}

// fixture is a cluster with a session, but without a scheduler.
type fixture struct {
	testing.TB
	kube    *fake.Clientset
	cache   *Cache
	cancel  context.CancelFunc
	counter *demand.Counter
	specs   []ledger.QueueSpec
	pods    toolscache.Indexer
	nodes   toolscache.Indexer
	clock   *clocktesting.FakeClock

	books *ledger.Ledger
	// releasing is what releasing pods hold beyond the ledger.
	releasing ledger.Demand
	session   *Session
}

func newFixture(t testing.TB, has cluster) *fixture {
	f := &fixture{
		TB: t, kube: fake.NewClientset(), counter: demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false }),
		pods:  toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}),
		nodes: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{}),
		clock: clocktesting.NewFakeClock(time.Unix(1000, 0)),
	}
	allocationtest.PatchesAreUpdates(f.kube)
	for _, name := range []string{"h100", "a100", "bare"} {
		f.try(f.kube.Tracker().Add(class(name)))
	}
	for name, devices := range has.devices {
		f.try(f.nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		published := slice(name, devices)
		if has.conditions {
			withConditions(published)
		}
		f.try(f.kube.Tracker().Add(published))
	}
	for _, c := range has.claims {
		f.try(f.kube.Tracker().Add(c))
	}
	for _, name := range []string{"root", "q", "r"} {
		spec := ledger.QueueSpec{Name: name, Capability: f.amounts(has.quotas[name])}
		if name != "root" {
			spec.Parent = "root"
		}
		f.specs = append(f.specs, spec)
	}
	f.countVersions()
	watching := []<-chan struct{}{f.signalWatch("resourceclaims"), f.signalWatch("resourceslices"), f.signalWatch("deviceclasses"), f.signalWatch("pods")}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	var err error
	factory := informers.NewSharedInformerFactory(f.kube, 0)
	f.cache, err = Start(ctx, f.kube, readiness.NewInformers(f.clock), factory.Core().V1().Pods(), f.clock)
	f.try(err)
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		f.cache.Shutdown()
	})
	f.eventually("the cache is ready", f.cache.Ready)
	for _, begun := range watching {
		<-begun
	}
	f.open()
	return f
}

// countVersions gives every change of a claim a new version, as an API server does. Otherwise, readers ignore changes as outdated.
func (f *fixture) countVersions() {
	version := 1
	f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim)
		version++
		claim.ResourceVersion = strconv.Itoa(version)
		return true, claim, f.kube.Tracker().Update(action.GetResource(), claim, action.GetNamespace())
	})
}

// signalWatch returns a channel that is closed once a resource is watched. The fake API server does not send changes
// between a list and a watch.
func (f *fixture) signalWatch(resource string) <-chan struct{} {
	watching := make(chan struct{})
	begun := sync.OnceFunc(func() { close(watching) })
	f.kube.PrependWatchReactor(resource, func(action clienttesting.Action) (bool, watch.Interface, error) {
		defer begun()
		changes, err := f.kube.Tracker().Watch(action.GetResource(), action.GetNamespace())
		return true, changes, err
	})
	return watching
}

// open begins the next session. Pods must be created again.
func (f *fixture) open() {
	f.books, _ = ledger.New(f.counter.Dimensions, nil, f.specs)
	catalog := f.cache.Catalog()
	f.counter.Begin(ClaimReader{f.cache}, catalog)
	f.releasing = nil
	f.session = f.cache.Open(Config{
		Catalog: catalog, Claims: f.counter.Claims, Dimensions: f.counter.Dimensions, Ledger: f.books, Held: f.held,
		CardsOn: func(*demand.Pod, *corev1.Node) *ledger.Part { return nil },
		Refuse: func(_ ledger.QueueID, refusal *ledger.Refusal) report.Refusal {
			return report.QuotaExceeded{Quota: refusals.Quota{Refusal: refusal}}
		},
		Leaving: func(*resourceapi.ResourceClaim) bool { return false },
		Attributed: func(uid types.UID) bool {
			for c := range f.counter.Claims.All {
				if c.Object.UID == uid {
					return f.books.Charged(c.Part)
				}
			}
			return false
		},
		RefuseJoin:     func(*ledger.Ledger, *demand.Pod, ledger.Demand) report.Refusal { return nil },
		BindingTimeout: bindingTimeout, Nodes: corelisters.NewNodeLister(f.nodes), Pods: corelisters.NewPodLister(f.pods),
	})
}

func (f *fixture) held() *ledger.Ledger {
	if f.releasing == nil {
		return f.books
	}
	view := f.books.View()
	q, _ := view.Queue("q")
	f.try(view.Charge(q, "releasing", f.releasing))
	return view
}

func (f *fixture) try(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.Helper()
	err := wait.PollUntilContextTimeout(f.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

// amounts parses words such as h100=2 or h100/memory=80Gi.
func (f *fixture) amounts(words string) ledger.Amounts {
	var amounts ledger.Amounts
	for word := range strings.FieldsSeq(words) {
		name, number, _ := strings.Cut(word, "=")
		dimension := ledger.Dimension{Kind: ledger.DeviceCount, Name: name}
		if class, capacity, found := strings.Cut(name, "/"); found {
			dimension = ledger.Dimension{Kind: ledger.DeviceCapacity, Name: class, Capacity: capacity}
		}
		quantity := resource.MustParse(number)
		amounts = append(amounts, ledger.Entry{Dimension: f.counter.Dimensions.Ordinal(dimension), Amount: ledger.Units(quantity.Value())})
	}
	return amounts
}

// text is the inverse of amounts, sorted.
func (f *fixture) text(amounts ledger.Amounts) string {
	var words []string
	for _, e := range amounts {
		d := f.counter.Dimensions.Dimension(e.Dimension)
		words = append(words, d.String()+"="+d.Format(e.Amount))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// pod makes a waiting pod of a queue.
func (f *fixture) pod(name, queue string, claims ...string) *demand.Pod {
	f.Helper()
	object := podObject(name, claims...)
	f.try(f.pods.Add(object))
	if _, err := f.kube.CoreV1().Pods("ns").Get(f.Context(), name, metav1.GetOptions{}); err != nil {
		f.try(f.kube.Tracker().Add(object))
	}
	pod, err := f.counter.Add(object, demand.Values{}, nil)
	f.try(err)
	f.counter.Refresh(pod)
	pod.Queue, pod.InLedger = f.books.Queue(queue)
	return pod
}

func (f *fixture) node(name string) *corev1.Node {
	object, found, err := f.nodes.GetByKey(name)
	if !found || err != nil {
		f.Fatalf("no node %s: %v", name, err)
	}
	return object.(*corev1.Node)
}

func (f *fixture) preFilter(pod *demand.Pod) *State {
	f.Helper()
	state, refusal := f.session.PreFilter(pod, string(pod.Object.UID), f.held(), nil)
	if refusal != nil {
		f.Fatalf("PreFilter refuses: %s", refusal.Message())
	}
	return state
}

// place runs a pod through PreFilter, Filter and Reserve.
func (f *fixture) place(pod *demand.Pod, node string) *State {
	f.Helper()
	state := f.preFilter(pod)
	if refusal := f.session.Filter(state, f.node(node)); refusal != nil {
		f.Fatalf("Filter refuses: %s", refusal.Message)
	}
	f.try(f.session.Reserve(state, f.node(node)))
	return state
}

// claim reads a claim from the API server.
func (f *fixture) claim(name string) *resourceapi.ResourceClaim {
	f.Helper()
	claim, err := f.kube.ResourceV1().ResourceClaims("ns").Get(f.Context(), name, metav1.GetOptions{})
	f.try(err)
	return claim
}

// pending returns the devices in flight for a claim.
func (f *fixture) pending(claim string) string {
	return devicesOf(f.cache.pending.Of(types.UID(claim)))
}

func devicesOf(claim *resourceapi.ResourceClaim) string {
	if claim == nil || claim.Status.Allocation == nil {
		return ""
	}
	var words []string
	for _, d := range claim.Status.Allocation.Devices.Results {
		words = append(words, fmt.Sprintf("%s/%s", d.Pool, d.Device))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func messageOf(refusal report.Refusal) string {
	if refusal == nil {
		return ""
	}
	return refusal.Message()
}
