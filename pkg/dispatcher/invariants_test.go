// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ledgers are the test's own records of queues and grants.
type ledgers struct {
	parents      map[string]string
	capabilities map[string]int64
	// before is what queues had granted after the last step. Highest is the highest capability that may still be in force.
	before  map[string]int64
	highest map[string]limit
	// most is the highest grant of a binding since it last had none, by permanent ID.
	most map[string]int64
	// over has the permanent IDs of workloads that have ended. None of them runs again, unless it is granted room again.
	over    map[string]bool
	updates []update
	// unrecorded has the UIDs of workloads with a stored update that was admitted before they had a binding to record it. Such an
	// update is charged once, even without room.
	unrecorded map[types.UID]bool
}

// limit is the highest capability that a dispatcher may still use, and until when.
type limit struct {
	cores int64
	until time.Time
}

func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

func (w *world) stateOf(rb *workv1alpha2.ResourceBinding) binding.State {
	var mine []*workv1alpha1.Work
	for _, key := range w.worksOf(rb) {
		mine = append(mine, w.store[works][key].(*workv1alpha1.Work))
	}
	return binding.Read(rb, mine)
}

func coresGranted(g *binding.Grant) int64 {
	if g != nil {
		for _, a := range g.Amounts {
			if a.Dimension == cpu {
				return wholeCores(a.Amount)
			}
		}
	}
	return 0
}

// coresOfPod returns the cores of the largest pod that clusters may make of a granted workload.
func coresOfPod(g *binding.Grant) int64 {
	if g == nil {
		return 0
	}
	return coresGranted(&binding.Grant{Amounts: g.Pod})
}

func wholeCores(a ledger.Amount) (n int64) {
	for ledger.Units(n).Cmp(a) < 0 {
		n++
	}
	return n
}

// granted returns the amounts that each queue and the queues below it have granted to workloads that have not ended.
func (w *world) granted() map[string]int64 {
	sums := map[string]int64{}
	for _, o := range w.store[bindings] {
		state := w.stateOf(o.(*workv1alpha2.ResourceBinding))
		id := idOf(o.(*workv1alpha2.ResourceBinding))
		if state.Finished {
			w.over = withEntry(w.over, id, true)
		}
		if state.Grant == nil {
			delete(w.over, id) // it may have been taken back before the dispatcher saw its end
			continue
		}
		if w.over[id] {
			continue // after its Works are deleted, its end is not reported any more
		}
		for queue := state.Grant.Queue; queue != ""; queue = w.parents[queue] {
			sums[queue] += coresGranted(state.Grant)
		}
	}
	return sums
}

// check compares the grants with the capabilities.
func (w *world) check() {
	sums := w.granted()
	for queue, cores := range w.capabilities {
		if cores == 0 {
			continue
		}
		high := w.highest[queue]
		if cores >= high.cores || (!high.until.IsZero() && w.clock.After(high.until) && w.isShown(queue)) {
			high = limit{cores: cores}
		} else if high.until.IsZero() || !w.isShown(queue) {
			high.until = w.clock.Add(MaxDecisionAge) // earlier decisions may still be written until then
		}
		w.highest = withEntry(w.highest, queue, high)
		if allowed := max(high.cores, w.before[queue]); sums[queue] > allowed {
			w.t.Errorf("queue %s: %d cores are granted, and %d are allowed", queue, sums[queue], allowed)
		}
	}
	w.before = sums
}

// allowRaise allows that a grant is raised for an unrecorded update. The patch may be stored although its answer was lost.
func (w *world) allowRaise(d *decision) {
	rb := w.binding(d.Workload.Name())
	if !d.raises || rb == nil || !w.unrecorded[rb.Spec.Resource.UID] {
		return
	}
	more := coresGranted(w.stateOf(rb).Grant) - coresGranted(d.Workload.State.Grant)
	if more <= 0 {
		return
	}
	delete(w.unrecorded, rb.Spec.Resource.UID)
	for queue := d.Workload.Queue; queue != ""; queue = w.parents[queue] {
		w.before[queue] += more
	}
}

// isShown reports whether all dispatchers have the current capabilities of the queues.
func (w *world) isShown(string) bool {
	for _, r := range w.replicas {
		if len(r.late[queues]) > 0 {
			return false
		}
	}
	return true
}

// checkWorks compares what clusters may run with the grants, when all controllers are up to date. Before that, a Karmada controller
// that lags far behind may exceed a former grant.
func (w *world) checkWorks() {
	grants := map[string]int64{}
	where := map[string]map[string]bool{}
	for _, o := range w.store[bindings] {
		rb := o.(*workv1alpha2.ResourceBinding)
		state := w.stateOf(rb)
		if state.Grant != nil {
			grants[idOf(rb)] = max(w.most[idOf(rb)], coresGranted(state.Grant))
		}
		where[idOf(rb)] = map[string]bool{}
		for _, c := range rb.Spec.Clusters {
			where[idOf(rb)]["karmada-es-"+c.Name] = true
		}
	}
	w.most = grants
	stays, leaves := map[string]int64{}, map[string]int64{}
	for _, o := range w.store[works] {
		told := w.content[string(o.GetUID())]
		if told == nil || told.ended {
			continue
		}
		cores := told.cores()
		if !told.suspended && o.GetDeletionTimestamp() == nil {
			cores = max(cores, told.told.cores())
		}
		if where[told.owner][o.GetNamespace()] {
			stays[told.owner] += cores
		} else {
			leaves[told.owner] += cores
		}
	}
	for _, sums := range []map[string]int64{stays, leaves} {
		for owner, cores := range sums {
			if cores > grants[owner] {
				w.t.Errorf("%s: clusters may run %d cores, and %d are granted", owner, cores, grants[owner])
			}
		}
	}
}
