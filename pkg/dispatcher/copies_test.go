// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// inTwo makes a workload of 4 cores run in m1 and m2, and leave m2, which is away.
func inTwo(t *testing.T, cores int64) *world {
	w := newQueueWorld(t, 1, cores, true)
	w.deploy("web", 4, "m1")
	w.sendTo("ns/web-deployment", "m1", "m2")
	w.pass(20)
	w.reach("m2", false)
	w.sendTo("ns/web-deployment", "m1")
	w.pass(20)
	return w
}

func TestAWorkloadThatLeavesOneOfTwoClustersIsChargedForTwo(t *testing.T) {
	w := inTwo(t, 12)
	w.deploy("other", 4, "m3")
	w.pass(60)
	if charged, runs := w.charge("ns/web-deployment"), w.runs(); charged != 8 || runs != 12 {
		t.Errorf("web is charged %d, and %d cores run, want 8 and 12: %s", charged, runs, w.says())
	}
}

func TestAWorkloadDoesNotGrowIntoTheCopyThatItLeaves(t *testing.T) {
	w := inTwo(t, 8)
	w.scaleTo(deployments, "ns/web", 6)
	w.pass(60)
	if runs := w.runs(); runs > 8 {
		t.Errorf("%d cores run, and the queue may have 8: %v", runs, w.binding("ns/web-deployment").Annotations)
	}
}

func TestAWorkloadDoesNotGrowIntoTheChargeOfAnEviction(t *testing.T) {
	w := newQueueWorld(t, 1, 8, true)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	w.sendTo("ns/train-job", "m1", "m2")
	w.pass(20)
	w.evict("ns/train-job", "m2", "m1", 0)
	w.pass(1)
	w.scaleTo(jobs, "ns/train", 6)
	w.pass(60)
	if runs := w.runs(); runs > 8 {
		t.Errorf("%d cores run, and the queue may have 8: %v", runs, w.binding("ns/train-job").Annotations)
	}
}

// TestEvictedReplicasCount, and not all replicas of a workload that are divided.
func TestEvictedReplicasCount(t *testing.T) {
	w := newQueueWorld(t, 1, 20, true)
	w.deploy("web", 10, "m1")
	policy := w.policies["ns/web-deployment"]
	policy.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	policy.ClusterAffinity.ClusterNames = []string{"m1", "m2"}
	w.pass(20)
	rb := w.binding("ns/web-deployment").DeepCopy()
	keeps, evicts := rb.Spec.Clusters[0].Name, rb.Spec.Clusters[1]
	rb.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: evicts.Name, Replicas: &evicts.Replicas}}
	rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: keeps, Replicas: 10}}
	if !w.write(rb) {
		t.Fatal("refused")
	}
	w.pass(5)
	if charged, want := w.charge("ns/web-deployment"), 10+int64(evicts.Replicas); charged != want {
		t.Errorf("charged %d, want %d", charged, want)
	}
}

// TestAWorkloadThatShrinksFitsInBothClusters: it is held because its policy adds a cluster. Karmada's scheduler does not lower its replicas.
func TestAWorkloadThatShrinksFitsInBothClusters(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas int32
		each     int64
	}{"fewer pods": {3, 2}, "smaller pods": {4, 1}, "fewer and smaller pods": {2, 1}} {
		for _, looks := range []bool{true, false} {
			w := newQueueWorld(t, 1, 12, looks)
			w.deploy("web", 4, "m1")
			w.requestOf(deployments, "ns/web", 4, 2)
			w.pass(20)
			w.sendTo("ns/web-deployment", "m1", "m2")
			w.pass(5)
			w.requestOf(deployments, "ns/web", tc.replicas, tc.each)
			w.pass(300)
			if want := 2 * int64(tc.replicas) * tc.each; w.runs() != want {
				t.Errorf("%s: %d cores run, want %d: %v %s", name, w.runs(), want, w.binding("ns/web-deployment").Annotations, w.says())
			}
		}
	}
}

// TestAnotherObjectDoesNotRunWhileAPlacementWaits: clusters see the object that it takes the place of.
func TestAnotherObjectDoesNotRunWhileAPlacementWaits(t *testing.T) {
	const key = "ns/train-job"
	w := newQueueWorld(t, 1, 4, true)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	w.pass(20)
	w.sendTo(key, "m1", "m2")
	w.pass(3)
	w.scaleTo(jobs, "ns/train", 3)
	for hold := w.stateOf(w.binding(key)).Hold; hold == nil || !hold.PlacementOnly; hold = w.stateOf(w.binding(key)).Hold {
		if w.pass(1); w.clock.After(noon.Add(2 * time.Minute)) {
			t.Fatalf("clusters do not see it: %v", w.binding(key).Annotations)
		}
	}
	job := w.store[jobs]["ns/train"].DeepCopyObject().(*batchv1alpha1.Job) // it is deleted with --cascade=orphan, and created again
	w.remove(jobs, w.store[jobs]["ns/train"])
	job.UID, job.ResourceVersion, job.Spec.Tasks[0].Replicas = types.UID("another"), "", 100
	w.put(jobs, job)
	rb := w.binding(key).DeepCopy()
	rb.Spec.Resource.UID, rb.Spec.Resource.ResourceVersion = job.UID, job.ResourceVersion
	w.write(rb)
	for range 30 {
		if w.pass(1); w.runs() > 4 {
			t.Fatalf("%d cores run, and the queue may have 4: %v", w.runs(), w.binding(key).Annotations)
		}
	}
}

// TestAPolicyThatSuspendsDispatchingDoesNotKeepGrowthFromRoom: clusters do not see a smaller template, whatever the dispatcher does.
func TestAPolicyThatSuspendsDispatchingDoesNotKeepGrowthFromRoom(t *testing.T) {
	f := newFixture(t, "")
	f.queue("team", "root", 6)
	f.running("train", "team", 4, func(w *framework.Workload) {
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Ends: true}
		w.Binding.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: ptr.To(true)}}
		w.Works[0].Spec.SuspendDispatching = ptr.To(true)
		w.Spread.Copies = 2
		w.Needs = framework.Needs{Minimum: f.cores(3), Copy: f.cores(3), Settled: f.cores(6), Stays: f.cores(8), All: f.cores(8)}
	})
	considered := 0
	for range 60 {
		if _, c := f.decide(); len(c.waiting["team"]) > 0 {
			considered++
		}
		f.snapshot.Now = f.snapshot.Now.Add(time.Second)
	}
	if considered < 50 {
		t.Errorf("it was considered in %d of 60 cycles", considered)
	}
}

// TestReplicasThatMoveBetweenTasksEndFirst: the second change waits until the pods that the first one replaces have ended.
func TestReplicasThatMoveBetweenTasksEndFirst(t *testing.T) {
	w := newQueueWorld(t, 1, 4, true)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	job := w.store[jobs]["ns/train"].DeepCopyObject().(*batchv1alpha1.Job)
	job.Spec.Tasks = append(job.Spec.Tasks, batchv1alpha1.TaskSpec{Name: "u", Template: podsOf("c", 1)}, batchv1alpha1.TaskSpec{Name: "v", Template: podsOf("c", 1)})
	w.put(jobs, job)
	w.pass(20)
	for i, ends := range []bool{false, true} {
		before := w.store[jobs]["ns/train"].(*batchv1alpha1.Job)
		after := before.DeepCopy()
		after.Spec.Tasks[i].Replicas, after.Spec.Tasks[i+1].Replicas = 0, 4
		if response := w.admit("user", "/validate-workload", "UPDATE", before, after); !response.Allowed {
			t.Fatal(response.Result)
		}
		w.put(jobs, after)
		if hold := w.stateOf(w.binding("ns/train-job")).Hold; (hold != nil && hold.Ends) != ends {
			t.Errorf("change %d: the hold is %+v, want it to wait: %v", i, hold, ends)
		}
	}
}

// TestAPolicyThatDividesNoMoreKeepsTheCharge: each cluster has few replicas of the former placement, and all together have more than one copy of the
// smaller workload.
func TestAPolicyThatDividesNoMoreKeepsTheCharge(t *testing.T) {
	for seed := range uint64(8) {
		w := newQueueWorld(t, seed, 3, true)
		w.deploy("web", 3, "m1")
		w.policies["ns/web-deployment"] = &policyv1alpha1.Placement{
			ClusterAffinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}},
			ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided},
		}
		w.pass(15)
		w.scaleTo(deployments, "ns/web", 2)
		w.sendTo("ns/web-deployment", "m1", "m2")
		w.pass(60)
		w.deploy("other", 1, "m3")
		w.pass(30)
		if runs := w.runs(); runs > 3 {
			t.Errorf("seed %d: %d cores run in a queue of 3", seed, runs)
		}
	}
}
