// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"maps"
	"slices"
	"strings"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// longestIdle is the number of seconds without a change after which nothing is left to do: pods end in less, and a dispatcher that looks at them decides each second.
const longestIdle = 2 * grace

// settled lets all actors work until nothing is left to do.
func (w *world) settled() {
	for name := range w.down {
		w.reach(name, true)
	}
	for _, key := range w.keys() {
		w.endEvictions(key)
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
	for len(w.updates) > 0 {
		w.storeUpdate()
	}
	w.reconcile()
	w.decide()
}

// decide lets the dispatchers work once.
func (w *world) decide() {
	leader := w.replicas[w.leads]
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
	w.checkRuns()
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
