// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// newReclaimWorld has queues c and b below org, which may have some cores. Workloads one and two of queue c run, four cores each.
func newReclaimWorld(t *testing.T, cores int64) *world {
	w := newWorldOf(t, 1, "reclaim: true", true, func(w *world) {
		w.queue("org", "root", cores)
		w.queue("c", "org", cores)
		w.queue("b", "org", cores)
	})
	w.deploy("one", 4, "m2")
	w.pass(60)
	w.deploy("two", 4, "m1") // younger, so that it goes first
	w.pass(60)
	return w
}

// has returns the hold of a Deployment, nil if there is none, and whether it has a grant.
func (w *world) has(name string) (hold *binding.Hold, granted bool) {
	state := w.stateOf(w.binding("ns/" + name + "-deployment"))
	return state.Hold, state.Grant != nil
}

// onlyTo makes the policy of a Deployment send it to one of some clusters.
func (w *world) onlyTo(name string, clusters ...string) {
	w.sendTo("ns/"+name+"-deployment", clusters...)
	w.policies["ns/"+name+"-deployment"].SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1}}
}

func TestVictimsFreeRoom(t *testing.T) {
	for name, act := range map[string]func(*world){
		"the youngest workload runs in a cluster that is away": func(w *world) { w.reach("m1", false) },
		"the youngest workload is deleted, in a cluster that is away": func(w *world) {
			w.reach("m1", false)
			w.remove(deployments, w.store[deployments]["ns/two"])
		},
		"the youngest workload is also evicted, by a policy that waits for users to confirm that": func(w *world) {
			w.queue("org", "root", 12)
			w.onlyTo("two", "m1", "m4")
			w.pass(60)
			rb := w.binding("ns/two-deployment").DeepCopy()
			from, to := rb.Spec.Clusters[0].Name, "m4"
			if from == to {
				to = "m1"
			}
			rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: to, Replicas: 4}}
			rb.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: from, Replicas: ptr.To[int32](4), SuppressDeletion: ptr.To(true)}}
			w.write(rb)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newReclaimWorld(t, 8)
			act(w)
			w.pass(30)
			w.deployIn("b", "deserves", 4, "m3")
			w.pass(300)
			if _, granted := w.has("deserves"); !granted {
				t.Errorf("it waits: %s", w.says())
			}
		})
	}
}

// TestNobodyGoesForAWorkloadThatNoClusterAccepts for ever.
func TestNobodyGoesForAWorkloadThatNoClusterAccepts(t *testing.T) {
	w := newReclaimWorld(t, 8)
	w.deployIn("b", "unplaceable", 4, "")
	w.onlyTo("unplaceable")
	evictions, returned := 0, false
	for range 3 * 3600 {
		w.pass(1)
		hold, _ := w.has("two")
		returns := hold != nil && hold.Reason == binding.Returning
		if returns && !returned {
			evictions++
		}
		returned = returns
	}
	if evictions != 2 {
		t.Errorf("the running workload was evicted %d times in three hours, want twice", evictions)
	}
}

// TestNobodyGoesForAWorkloadThatLeavesItsRoom: a workload is evicted from a cluster, and grows. It fits when it has left that cluster.
func TestNobodyGoesForAWorkloadThatLeavesItsRoom(t *testing.T) {
	w := newReclaimWorld(t, 16)
	w.deployIn("b", "moves", 4, "m3")
	w.onlyTo("moves", "m3", "m4")
	w.pass(60)
	from, to := w.binding("ns/moves-deployment").Spec.Clusters[0].Name, "m4"
	if from == to {
		to = "m3"
	}
	w.evict("ns/moves-deployment", from, to, 4)
	w.pass(5)
	w.scaleTo(deployments, "ns/moves", 6)
	for second := range 120 {
		if w.pass(1); second == 30 {
			w.evict("ns/moves-deployment", "", to, 4)
		}
		for _, name := range []string{"one", "two"} {
			if hold, _ := w.has(name); hold != nil {
				t.Fatalf("%s is taken back: %s", name, w.says())
			}
		}
	}
	if hold, _ := w.has("moves"); hold != nil {
		t.Errorf("its growth is held: %s", w.says())
	}
}
