// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// seedsVariable is the environment variable with the seeds to run, as "first-last".
const seedsVariable = "DISPATCHER_SEEDS"

// longestIdle is the number of seconds without a change after which nothing is left to do: pods end in less, and a dispatcher that looks at them decides each second.
const longestIdle = 2 * grace

// TestWhatIsGrantedNeverExceedsAQueueAndAllThatFitsIsGranted lets dispatchers, Karmada, and users act in random order, and checks
// the store after each step.
func TestWhatIsGrantedNeverExceedsAQueueAndAllThatFitsIsGranted(t *testing.T) {
	first, last := uint64(1), uint64(10)
	if text := os.Getenv(seedsVariable); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err != nil {
			t.Fatalf("%s is %q: %v", seedsVariable, text, err)
		}
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			simulate(t, seed)
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	arguments := []string{"", "strictOrder: false", "reclaim: true", "strictOrder: false, reclaim: true"}[seed%4]
	w := newWorld(t, seed, newFixture(t, arguments).config)
	defer func() {
		if t.Failed() {
			t.Logf("the last steps of seed %d (%s):\n%s", seed, arguments, strings.Join(w.log[max(0, len(w.log)-60):], "\n"))
		}
	}()
	w.cluster("m1")
	w.cluster("m2")
	for _, q := range []struct {
		name, parent string
		cores        int64
	}{{"root", "", 0}, {"org", "root", 10}, {"a", "org", 8}, {"b", "org", 6}, {"c", "root", 5}} {
		w.queue(q.name, q.parent, q.cores)
	}
	for range 2 {
		w.replicas = append(w.replicas, w.newReplica())
	}
	defer func() {
		for _, r := range w.replicas {
			r.stop()
		}
	}()
	w.succeed()
	w.faulty, w.looks = true, seed%2 == 0
	for step := 0; step < 1500 && !t.Failed(); step++ {
		w.step()
		w.check()
		w.checkEnding()
	}
	if w.faulty = false; !t.Failed() {
		w.finish()
	}
}

// see updates a binding in Karmada's scheduler or in its binding controller.
func (w *world) see(key string, scheduler bool) {
	rb := w.binding(key)
	if rb == nil {
		delete(w.scheduler, key)
		delete(w.dispatching, key)
		return
	}
	if scheduler {
		w.scheduler[key] = rb.DeepCopy()
		return
	}
	o, replicas, each := w.templateOf(key)
	now := seen{binding: rb.DeepCopy(), replicas: replicas, each: each, at: w.clock}
	if o != nil {
		now.generation = o.GetGeneration()
		now.retains = o.GetLabels()[retainReplicas] == "true"
	}
	w.dispatching[key] = now
}

// step makes a random actor do something.
func (w *world) step() {
	r, leader := w.replicas[w.rand.IntN(len(w.replicas))], w.replicas[w.leads]
	key := w.key()
	switch n := w.rand.IntN(1000); {
	case n < 30:
		w.create()
	case n < 45:
		res := []string{jobs, deployments}[w.rand.IntN(2)]
		if key := w.pick(res); key != "" {
			w.remove(res, w.store[res][key])
			w.note("deleted %s %s", res, key)
		}
	case n < 70:
		w.scale()
	case n < 110:
		w.storeUpdate()
	case n < 115 && key != "" && strings.HasSuffix(key, "-deployment"):
		w.changePolicy(key)
	case n < 120:
		w.sleep(time.Duration(w.rand.IntN(700)) * time.Second)
	case n < 122:
		w.restart(w.rand.IntN(len(w.replicas)))
	case n < 126:
		w.succeed()
	case n < 128:
		w.reach([]string{"m1", "m2"}[w.rand.IntN(2)], w.chance(50))
	case n < 140:
		if work := w.pick(works); work != "" && strings.HasSuffix(work, "-job") {
			o := w.store[works][work]
			if told := w.content[string(o.GetUID())]; o.GetDeletionTimestamp() == nil && told.has.replicas > 0 {
				told.ended, told.has.replicas = true, 0
				w.note("%s ended", work)
			}
		}
	case n < 145:
		if name := []string{"a", "b", "c"}[w.rand.IntN(3)]; w.chance(50) {
			w.queue(name, w.parents[name], 4+w.rand.Int64N(5))
			w.note("queue %s: %d", name, w.capabilities[name])
		}
	case n < 300:
		w.sleep(time.Duration(w.rand.IntN(800)) * time.Millisecond)
	case n < 500:
		if resource := slices.Sorted(maps.Keys(r.late)); len(resource) > 0 {
			r.show(resource[w.rand.IntN(len(resource))], 1+w.rand.IntN(4))
		}
	case n < 620:
		if leader.cycle == nil {
			w.begin(leader)
		} else {
			w.settle(leader)
		}
	case key != "":
		w.actOn(key, n%7)
		w.note("%s: %s", []string{"detect", "scheduler sees", "schedule", "dispatcher sees", "dispatch", "execute", "report"}[n%7], key)
	}
}

// actOn makes one of Karmada's controllers process a binding.
func (w *world) actOn(key string, controller int) {
	switch controller {
	case 0:
		w.detect(key)
	case 1:
		w.see(key, true)
	case 2:
		w.schedule(key)
	case 3:
		w.see(key, false)
	case 4:
		w.dispatch(key)
	case 5:
		if work := w.pick(works); work != "" {
			w.execute(work)
		}
	case 6:
		if w.binding(key) != nil {
			w.report(key)
		}
	}
}

// settled lets all actors work until nothing is left to do.
func (w *world) settled() {
	for name := range w.down {
		w.reach(name, true)
	}
	for round, idle := 0, 0; idle < longestIdle; round++ {
		if round == 2000 {
			w.t.Fatalf("after %d rounds there is still something to do", round)
		}
		before, leader := w.version, w.replicas[w.leads]
		w.round()
		w.sleep(time.Second)
		if w.version != before {
			idle = 0
		} else if idle++; leader.next.After(w.clock) {
			w.clock = leader.next
			idle = 0
		}
	}
}

// round lets all actors work once.
func (w *world) round() {
	leader := w.replicas[w.leads]
	for len(w.updates) > 0 {
		w.storeUpdate()
	}
	w.reconcile()
	for _, r := range w.replicas {
		r.showAll()
	}
	if leader.cycle == nil && w.isWoken(leader) {
		w.begin(leader)
	}
	for leader.cycle != nil {
		w.settle(leader)
	}
	w.check()
	w.checkEnding()
}

// reconcile makes each Karmada controller see and process everything.
func (w *world) reconcile() {
	for _, key := range w.keys() {
		if o, _, _ := w.templateOf(key); o == nil || w.binding(key) == nil || w.isBehind(key, o) {
			w.detect(key)
		}
		w.see(key, true)
		if rb := w.scheduler[key]; rb != nil && (rb.Status.SchedulerObservedGeneration != rb.Generation) {
			w.schedule(key)
		}
		w.see(key, false)
		w.dispatch(key)
	}
	for _, work := range slices.Sorted(maps.Keys(w.store[works])) {
		w.execute(work)
	}
	for _, key := range w.keys() {
		if rb := w.binding(key); rb != nil && w.isUnreported(rb) {
			w.report(key)
		}
	}
}

func (w *world) isBehind(key string, o object) bool {
	rb := w.binding(key)
	return rb.Spec.Resource.UID != o.GetUID() || rb.Spec.Resource.ResourceVersion != o.GetResourceVersion() ||
		string(must(jsonOf(rb.Spec.Placement))) != string(must(jsonOf(w.policies[key])))
}

func (w *world) isUnreported(rb *workv1alpha2.ResourceBinding) bool {
	var reported, ended, told, over int
	for i := range rb.Status.AggregatedStatus {
		reported++
		if rb.Status.AggregatedStatus[i].Status != nil {
			ended++
		}
	}
	for _, key := range w.worksOf(rb) {
		work := w.store[works][key].(*workv1alpha1.Work)
		if len(work.Status.ManifestStatuses) > 0 {
			told++
			if w.content[string(work.UID)].ended {
				over++
			}
		}
	}
	return reported != told || ended != over
}

// finish ends all workloads one after another, and checks that everything that fits gets room.
func (w *world) finish() {
	for range 40 {
		w.settled()
		w.nothingWaitsInVain()
		w.checkWorks()
		done := true
		for _, key := range w.keys() {
			rb := w.binding(key)
			if rb == nil || rb.DeletionTimestamp != nil {
				w.t.Errorf("%s: %v is not done", key, rb)
				return
			}
			if rb.Annotations[binding.GrantAnnotation] != "" {
				res, base := jobs, strings.TrimSuffix(key, "-job")
				if base == key {
					res, base = deployments, strings.TrimSuffix(key, "-deployment")
				}
				w.remove(res, w.store[res][base])
				done = false
			}
		}
		if done || w.t.Failed() {
			return
		}
	}
	w.t.Error("not everything has ended")
}
