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
)

// seedsVariable is the environment variable with the seeds to run, as "first-last".
const seedsVariable = "DISPATCHER_SEEDS"

// logged is how many of the last steps a failure shows.
const logged = 400

// memberClusters are the member clusters of the simulation.
var memberClusters = []string{"m1", "m2", "m3"}

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
			t.Logf("the last steps of seed %d (%s):\n%s", seed, arguments, strings.Join(w.log[max(0, len(w.log)-logged):], "\n"))
		}
	}()
	for _, cluster := range memberClusters {
		w.cluster(cluster)
	}
	for _, q := range []struct {
		name, parent string
		cores        int64
	}{{"root", "", 0}, {"org", "root", 10}, {"a", "org", 8}, {"b", "org", 6}, {"c", "root", 5}} {
		w.queue(q.name, q.parent, q.cores)
	}
	w.observer = w.newReplica()
	for range 2 {
		w.replicas = append(w.replicas, w.newReplica())
	}
	defer func() {
		for _, r := range append(w.replicas, w.observer) {
			r.stop()
		}
	}()
	w.succeed()
	w.faulty, w.looks, w.restless = true, seed%2 == 0, []int{0, 4, 12}[seed%3]
	for step := 0; step < 1500 && !t.Failed(); step++ {
		w.step()
		w.check()
		w.checkRuns()
	}
	clear(w.suspends)
	clear(w.suspendsOn)
	for _, key := range w.keys() {
		w.detect(key)
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
	if o, _, _ := w.templateOf(key); o != nil && o.GetUID() != rb.Spec.Resource.UID {
		w.detect(key) // the binding controller reads the object by its name, so that a detector that lags behind may exceed grants, too
		rb = w.binding(key)
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
	if key != "" && w.chance(w.restless) {
		w.unsettle(key)
		return
	}
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
		w.change()
	case n < 110:
		w.storeUpdate()
	case n < 115 && key != "":
		w.changePolicy(key)
	case n < 120:
		w.sleep(time.Duration(w.rand.IntN(700)) * time.Second)
	case n < 122:
		w.restart(w.rand.IntN(len(w.replicas)))
	case n < 126:
		w.succeed()
	case n < 129 && key != "":
		w.overwrite(key)
	case n < 134 && key != "":
		w.evictSome(key)
	case n < 136:
		w.reach(memberClusters[w.rand.IntN(len(memberClusters))], w.chance(50))
	case n < 148:
		if work := w.pick(works); work != "" && strings.HasSuffix(work, "-job") {
			o := w.store[works][work]
			if told := w.content[string(o.GetUID())]; o.GetDeletionTimestamp() == nil && told.replicas() > 0 {
				w.endJob(work)
			}
		}
	case n < 153:
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

// unsettle makes something happen that moves a workload, or that happens while others move.
func (w *world) unsettle(key string) {
	switch w.rand.IntN(7) {
	case 6:
		w.suspendsOn[key] = nil
		if w.chance(50) {
			w.suspendsOn[key] = w.someMembers()
		}
		w.note("policy of %s suspends dispatching on %v", key, w.suspendsOn[key])
		w.detect(key)
	case 5:
		w.suspends[key] = w.chance(40)
		w.note("policy of %s suspends dispatching: %v", key, w.suspends[key])
	case 0:
		w.evictSome(key)
	case 1:
		w.reach(memberClusters[w.rand.IntN(len(memberClusters))], w.chance(70))
	case 2, 3:
		w.changePolicy(key)
	default:
		w.change()
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
