// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// used returns the cores that run in clusters or still end there, by permanent ID.
func (w *world) used() map[string]int64 {
	w.ending = slices.DeleteFunc(w.ending, func(e ending) bool { return !e.until.After(w.clock) })
	used := map[string]int64{}
	for _, c := range w.content {
		used[c.owner] += c.cores()
	}
	for _, o := range w.store[works] {
		if c := w.content[string(o.GetUID())]; c != nil && !c.suspended && !w.down[binding.ClusterOf(o.(*workv1alpha1.Work))] {
			used[c.owner] -= c.beside()
		}
	}
	for _, e := range w.ending {
		if !e.beside {
			used[e.owner] += e.cores()
		}
	}
	return used
}

// checkRuns checks that what runs in clusters, or still ends there, is charged to its queue: each workload has a charge of its own.
func (w *world) checkRuns() {
	if w.t.Failed() {
		return // the first violation says enough
	}
	used := w.used()
	for _, o := range w.store[bindings] {
		rb := o.(*workv1alpha2.ResourceBinding)
		id := idOf(rb)
		if used[id] > coresGranted(w.stateOf(rb).Grant) && !w.unrecorded[rb.Spec.Resource.UID] {
			if charged := w.charge(keyOf(rb)); used[id] > charged {
				w.t.Errorf("%s: clusters run %d cores, or end them, and %d are charged: %v, in %v, evicted %v\n%s",
					keyOf(rb), used[id], charged, rb.Annotations, rb.Spec.Clusters, rb.Spec.GracefulEvictionTasks, w.describe(id))
			}
		}
		delete(used, id)
	}
	for id, cores := range used {
		if cores > 0 {
			w.t.Errorf("clusters run %d cores of %s, which has no binding any more", cores, id)
		}
	}
}

// describe returns what clusters have of a workload, given by its permanent ID.
func (w *world) describe(id string) string {
	var lines []string
	for key, o := range w.store[works] {
		if c := w.content[string(o.GetUID())]; c != nil && c.owner == id {
			lines = append(lines, fmt.Sprintf("%s: %+v", key, *c))
		}
	}
	for _, e := range w.ending {
		if e.owner == id {
			lines = append(lines, fmt.Sprintf("ending: %+v", e))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// charge returns the cores that a dispatcher charges to a workload when it has seen everything.
func (w *world) charge(key string) (cores int64) {
	w.observer.showAll()
	snapshot, err := w.observer.dispatcher.cache.Snapshot(w.clock)
	if err != nil {
		w.t.Fatal(err)
	}
	snapshot.Workloads = slices.DeleteFunc(snapshot.Workloads, func(of *framework.Workload) bool { return of.Name() != key })
	session := framework.Open(w.config, snapshot)
	root, _ := session.Ledger.Queue("root")
	return wholeCores(session.Ledger.Balance(root, ledger.Allocated, snapshot.Dimensions.Ordinal(cpu)))
}

// says returns what the leader has said about workloads in its last cycle.
func (w *world) says() string {
	var lines []string
	for _, d := range w.replicas[w.leads].said {
		lines = append(lines, d.Workload.Name()+" "+d.Reason+": "+d.Message)
	}
	return strings.Join(lines, "\n")
}
