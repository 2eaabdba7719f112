// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	discoveryfake "k8s.io/client-go/discovery/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
)

// replica is a dispatcher whose informers are controlled by the test.
type replica struct {
	dispatcher *Dispatcher
	// mu guards watches, which informers open.
	mu      sync.Mutex
	watches map[string]*watch.RaceFreeFakeWatcher
	// late has the changes that the informers have not shown yet.
	late map[string][]watch.Event
	stop func()
	// ends and grants are the decisions that are not written yet. Next is when its next cycle is due.
	cycle        *cycle
	ends, grants []*decision
	taken, next  time.Time
	memory       *memory
	// decided says that the cycle has decided about grants.
	decided bool
	// said is what its last cycle told.
	said []report.Decision
	// woken says that something has changed since its last cycle began.
	woken bool
}

func (w *world) newReplica() *replica {
	r := &replica{memory: newMemory(), watches: map[string]*watch.RaceFreeFakeWatcher{}, late: map[string][]watch.Event{}}
	kube, karmada, volcano, queues := kubefake.NewSimpleClientset(), karmadafake.NewSimpleClientset(), volcanofake.NewSimpleClientset(), queuefake.NewSimpleClientset()
	metadata := metadatafake.NewSimpleMetadataClient(runtime.NewScheme())
	w.serve(r, &kube.Fake, &karmada.Fake, &volcano.Fake, &queues.Fake, &metadata.Fake)
	kube.Discovery().(*discoveryfake.FakeDiscovery).Resources = []*metav1.APIResourceList{
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Kind: "Deployment"}}},
		{GroupVersion: "batch.volcano.sh/v1alpha1", APIResources: []metav1.APIResource{{Kind: "Job"}}},
	}
	clients := &cache.Clients{Kubernetes: kube, Karmada: karmada, Volcano: volcano, Queues: queues, Metadata: metadata}
	c, err := cache.New(clients, w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	metrics, err := report.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		w.t.Fatal(err)
	}
	r.dispatcher = &Dispatcher{cache: c, clients: clients, config: w.config, period: time.Second, user: dispatcherUser, metrics: metrics}
	ctx, cancel := context.WithCancel(w.t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = c.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-stopped
	}
	limit, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	if err := c.WaitForSync(limit); err != nil {
		w.t.Fatal(err)
	}
	for resource := range w.store { // changes before the watch begins are not shown
		err := wait.PollUntilContextCancel(limit, time.Millisecond, true, func(context.Context) (bool, error) { return r.watch(resource) != nil, nil })
		if err != nil {
			w.t.Fatalf("%s are not watched: %v", resource, err)
		}
	}
	return r
}

func (r *replica) setWatch(resource string, w *watch.RaceFreeFakeWatcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[resource] = w
}

func (r *replica) watch(resource string) *watch.RaceFreeFakeWatcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watches[resource]
}

// show makes the informers of a resource show some late changes.
func (r *replica) show(resource string, most int) {
	for range min(most, len(r.late[resource])) {
		event := r.late[resource][0]
		r.late[resource] = r.late[resource][1:]
		r.noteChange()
		r.watch(resource).Action(event.Type, event.Object)
		<-r.dispatcher.cache.Changed() // the informer shows it
		r.woken = true
	}
}

func (r *replica) showAll() {
	for _, resource := range slices.Sorted(maps.Keys(r.late)) {
		r.show(resource, len(r.late[resource]))
	}
}

// begin takes a snapshot and decides.
func (w *world) begin(r *replica) {
	r.noteChange()
	r.taken, r.woken = w.clock, false
	snapshot, err := r.dispatcher.cache.Snapshot(r.taken)
	if err != nil {
		w.t.Fatal(err)
	}
	snapshot.Left = w.left
	session := framework.Open(w.config, snapshot)
	r.memory.forget(snapshot)
	r.cycle = newCycle(w.config, session, r.memory)
	r.cycle.reconcileAll()
	r.ends, r.decided = w.shuffled(r.cycle.ends), false
	w.decideGrants(r)
}

// decideGrants decides about grants when all ends are written.
func (w *world) decideGrants(r *replica) {
	if len(r.ends) > 0 || r.decided {
		return
	}
	r.decided = true
	r.cycle.free()
	r.cycle.grantAll()
	r.cycle.Close()
	r.grants = append(w.shuffled(r.cycle.grants), w.shuffled(r.cycle.victims)...)
	w.end(r)
}

// shuffled returns the decisions with patches in random order.
func (w *world) shuffled(list []decision) (written []*decision) {
	for i := range list {
		if list[i].patch != nil {
			written = append(written, &list[i])
		}
	}
	w.rand.Shuffle(len(written), func(i, j int) { written[i], written[j] = written[j], written[i] })
	return written
}

// settle writes one pending decision.
func (w *world) settle(r *replica) {
	list, until := &r.ends, r.taken.Add(endsTake)
	if len(r.ends) == 0 {
		list, until = &r.grants, r.taken.Add(MaxDecisionAge)
	}
	d := (*list)[0]
	*list = (*list)[1:]
	d.err = r.dispatcher.writeOne(w.t.Context(), w.deadline(until), d, r.dispatcher.cache.StoredClaims())
	w.allowRaise(d)
	w.note("%s %s %s: %v", d.Workload.Name(), d.Kind, d.patch, d.err)
	w.decideGrants(r)
	w.end(r)
}

// deadline returns a real time that has passed if, and only if, a time of the world has.
func (w *world) deadline(until time.Time) time.Time {
	if until.After(w.clock) {
		return time.Now().Add(time.Hour)
	}
	return time.Time{}
}

// end ends a cycle in which everything is written.
func (w *world) end(r *replica) {
	if r.cycle != nil && r.decided && len(r.ends)+len(r.grants) == 0 {
		r.cycle.again(w.clock.Add(r.dispatcher.period))
		r.cycle, r.next, r.said = nil, r.cycle.next, r.cycle.told
	}
}

// noteChange notes whether something has changed.
func (r *replica) noteChange() {
	select {
	case <-r.dispatcher.cache.Changed():
		r.woken = true
	default:
	}
}

// isWoken reports whether a cycle would begin, like Dispatcher.wait.
func (w *world) isWoken(r *replica) bool {
	r.noteChange()
	if r.woken {
		r.woken = false
		return true
	}
	return !r.next.IsZero() && !w.clock.Before(r.next)
}

// succeed makes another dispatcher lead. Its lease begins when no decision of the last leader can be written any more.
func (w *world) succeed() {
	last := w.replicas[w.leads]
	if last.cycle != nil && w.clock.Sub(last.taken) < MaxDecisionAge {
		w.clock = last.taken.Add(MaxDecisionAge)
	}
	w.leads = w.rand.IntN(len(w.replicas))
	r := w.replicas[w.leads]
	r.cycle, r.ends, r.grants = nil, nil, nil
	caughtUp := make(chan error)
	go func() { caughtUp <- r.dispatcher.cache.CatchUp(w.t.Context()) }()
	r.show(bindings, len(r.late[bindings]))
	r.show(queues, len(r.late[queues]))
	if err := <-caughtUp; err != nil {
		w.t.Fatal(err)
	}
	r.woken = true // the first cycle does not wait
	w.note("%d leads", w.leads)
}

// restart replaces a dispatcher.
func (w *world) restart(i int) {
	w.replicas[i].stop()
	w.replicas[i] = w.newReplica()
	if i == w.leads {
		w.succeed()
	}
}
