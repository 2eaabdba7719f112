// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

// newReclaimWorld has queues c and b below org, which may have some cores. Workloads one and two of queue c run, four cores each.
func newReclaimWorld(t *testing.T, cores int64, arguments ...string) *world {
	w := newWorldOf(t, 1, strings.Join(append(arguments, "reclaim: true"), ", "), true, func(w *world) {
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

// otherOf returns the cluster of a Deployment, and the other one of two.
func (w *world) otherOf(name string, clusters [2]string) (from, to string) {
	if from = w.binding("ns/" + name + "-deployment").Spec.Clusters[0].Name; from == clusters[0] {
		return from, clusters[1]
	}
	return from, clusters[0]
}

// evictUnlessConfirmed makes Karmada move a Deployment to the other one of two clusters. It stays in the first one until a user confirms that.
func (w *world) evictUnlessConfirmed(name string, replicas int32, clusters [2]string) {
	rb := w.binding("ns/" + name + "-deployment").DeepCopy()
	from, to := w.otherOf(name, clusters)
	rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: to, Replicas: replicas}}
	rb.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: from, Replicas: &replicas, SuppressDeletion: ptr.To(true)}}
	if !w.write(rb) {
		w.t.Fatal("refused")
	}
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
			w.evictUnlessConfirmed("two", 4, [2]string{"m1", "m4"})
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
	if evictions := w.evictions("two", 3*3600, func() {}); evictions != 2 {
		t.Errorf("the running workload was evicted %d times in three hours, want twice", evictions)
	}
}

// evictions returns how often a Deployment is taken back within some seconds. It calls then each time.
func (w *world) evictions(name string, seconds int, then func()) (n int) {
	returned := false
	for range seconds {
		w.pass(1)
		hold, _ := w.has(name)
		returns := hold != nil && hold.Reason == binding.Returning
		if returns && !returned {
			n++
			then()
		}
		returned = returns
	}
	return n
}

// TestWhoeverMayTakeNothingBackKeepsNobodyFromIt: a younger workload of the same queue deserves room.
func TestWhoeverMayTakeNothingBackKeepsNobodyFromIt(t *testing.T) {
	for name, older := range map[string]func(*world){
		"no cluster accepts it": func(w *world) {
			w.deployIn("b", "older", 4, "")
			w.onlyTo("older")
			w.pass(3600)
		},
		"it leaves a cluster when a user confirms that": func(w *world) {
			w.queue("org", "root", 16)
			w.queue("c", "org", 16)
			w.queue("b", "org", 16)
			w.deploy("three", 4, "m2")
			w.deployIn("b", "older", 2, "m3")
			w.onlyTo("older", "m3", "m4")
			w.pass(60)
			w.evictUnlessConfirmed("older", 2, [2]string{"m3", "m4"})
			w.pass(60)
			w.scaleTo(deployments, "ns/older", 3)
			w.pass(10)
		},
		"its policy suspends dispatching": func(w *world) {
			w.suspends["ns/older-deployment"] = true
			w.deployIn("b", "older", 4, "m3")
			w.pass(60)
		},
	} {
		for _, strict := range []string{"strictOrder: true", "strictOrder: false"} {
			t.Run(name+", "+strict, func(t *testing.T) {
				w := newReclaimWorld(t, 8, strict)
				older(w)
				if hold, _ := w.has("two"); hold != nil {
					t.Errorf("another one is taken back for it: %s", w.says())
				}
				w.deployIn("b", "younger", 2, "m3")
				w.pass(1200)
				if _, granted := w.has("younger"); !granted {
					t.Errorf("it waits: %s", w.says())
				}
			})
		}
	}
}

// TestALargeWorkloadKeepsNoSmallOneFromWhatItDeserves, if it must wait itself and need not come first.
func TestALargeWorkloadKeepsNoSmallOneFromWhatItDeserves(t *testing.T) {
	w := newReclaimWorld(t, 8, "strictOrder: false")
	w.deployIn("b", "large", 6, "m3") // more than its queue deserves
	w.pass(5)
	w.deployIn("b", "small", 2, "m3")
	w.pass(300)
	if _, granted := w.has("small"); !granted {
		t.Errorf("it waits: %s", w.says())
	}
}

// TestAPromiseIsKeptDuringAnUpdate: the workload that another one went for gets updates that are admitted and then fail.
func TestAPromiseIsKeptDuringAnUpdate(t *testing.T) {
	w := newReclaimWorld(t, 8)
	w.deployIn("b", "deserves", 4, "m3")
	evictions := w.evictions("two", 400, func() {
		before := w.store[deployments]["ns/deserves"].(*appsv1.Deployment)
		after := before.DeepCopy()
		after.Spec.Template.Spec.Containers[0].Image = "other"
		w.admit("user", admission.WorkloadsPath, "UPDATE", before, after)
	})
	if _, granted := w.has("deserves"); evictions != 1 || !granted {
		t.Errorf("another one is taken back %d times, and it is granted room: %t", evictions, granted)
	}
}

// TestNobodyGoesForAWorkloadThatLeavesItsRoom: a workload is evicted from a cluster, and grows. It fits when it has left that cluster.
func TestNobodyGoesForAWorkloadThatLeavesItsRoom(t *testing.T) {
	w := newReclaimWorld(t, 16)
	w.deployIn("b", "moves", 4, "m3")
	w.onlyTo("moves", "m3", "m4")
	w.pass(60)
	from, to := w.otherOf("moves", [2]string{"m3", "m4"})
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

// TestAPromiseToAWorkloadWithoutAPolicyKeepsNobodyWaiting: it lost its policy when another one was taken back for it.
func TestAPromiseToAWorkloadWithoutAPolicyKeepsNobodyWaiting(t *testing.T) {
	w := newReclaimWorld(t, 8)
	w.deployIn("b", "deserves", 4, "m3")
	w.evictions("two", 10, func() {
		rb := w.binding("ns/deserves-deployment").DeepCopy()
		delete(rb.Labels, policyv1alpha1.PropagationPolicyPermanentIDLabel)
		w.save(rb)
	})
	w.pass(120)
	if _, granted := w.has("two"); !granted {
		t.Errorf("the room is idle: %s", w.says())
	}
}

// TestAPromiseThatExpiresGivesItsRoomAway, although nothing else happens: the clusters of all victims are away.
func TestAPromiseThatExpiresGivesItsRoomAway(t *testing.T) {
	w := newReclaimWorld(t, 9, "strictOrder: false")
	w.deployIn("b", "deserves", 4, "m3")
	w.evictions("two", 10, func() {
		w.reach("m1", false)
		w.reach("m2", false)
	})
	w.deploy("other", 1, "m4")
	w.pass(1200)
	if _, granted := w.has("other"); !granted {
		t.Errorf("a core is idle: %s", w.says())
	}
}

// TestVictimsAreLookedForInTurn: older workloads, for which not enough may go, use up the search of a cycle. The next one goes on with the others.
func TestVictimsAreLookedForInTurn(t *testing.T) {
	for name, c := range map[string]struct{ running, queues, each, cores int }{
		"many in one queue":                 {running: 40, queues: 1, each: 8, cores: 33},
		"some, and many workloads that run": {running: 10_000, queues: 1, each: 2, cores: 11},
		"in many queues":                    {running: 10_000, queues: 12, each: 1, cores: 11},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "reclaim: true, strictOrder: false")
			all := int64(c.running)
			f.queue("ml", "root", all)
			f.queue("b", "ml", all, 0)
			for i := range c.running {
				f.running(fmt.Sprintf("x%d", i), "b", 1)
			}
			last := ""
			for i := range c.queues {
				last = fmt.Sprintf("a%02d", i)
				f.queue(last, "ml", all, min(all, 10))
				for j := range c.each {
					f.held(fmt.Sprintf("large-%d-%d", i, j), last, int64(c.cores+j))
				}
			}
			if c.queues > 1 {
				last = "z"
				f.queue(last, "ml", all, 10)
			}
			f.held("small", last, 1)
			for range 5 {
				if _, cycle := f.decide(); len(cycle.victims) > 0 {
					return
				}
			}
			t.Error("nobody goes for the small workload")
		})
	}
}
