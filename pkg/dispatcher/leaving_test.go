// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

// changePods changes the pods of a Volcano Job.
func (w *world) changePods(name string) {
	before := w.store[jobs]["ns/"+name].(*batchv1alpha1.Job)
	after := before.DeepCopy()
	after.Spec.Tasks[0].Template.Labels = map[string]string{"changed": "yes"}
	if response := w.admit("user", admission.WorkloadsPath, "UPDATE", before, after); !response.Allowed {
		w.t.Fatal(response.Result)
	}
	w.put(jobs, after)
}

// evict makes Karmada move a workload gracefully from a cluster, to no other if to is empty, or end that if from is empty.
func (w *world) evict(key, from, to string, replicas int32) {
	rb := w.binding(key).DeepCopy()
	rb.Spec.Clusters, rb.Spec.GracefulEvictionTasks = nil, nil
	if to != "" {
		rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: to, Replicas: replicas}}
	}
	if from != "" {
		rb.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: from, Replicas: &replicas}}
	}
	if !w.write(rb) {
		w.t.Fatal("refused")
	}
}

// TestAWorkloadDoesNotGrowWhileAClusterThatItHasLeftIsAway: each move adds to what it is charged, which it could grow into.
func TestAWorkloadDoesNotGrowWhileAClusterThatItHasLeftIsAway(t *testing.T) {
	w := newQueueWorld(t, 1, 4, true)
	w.deploy("web", 4, "m1")
	w.pass(20)
	w.reach("m1", false)
	for _, to := range []string{"m2", "m3", "m2", "m3"} {
		w.sendTo("ns/web-deployment", to)
		w.pass(90)
		w.scaleTo(deployments, "ns/web", int32(w.granted()["c"]/2))
		w.pass(90)
	}
	if runs := w.runs(); runs > 8 {
		t.Errorf("%d cores run, and the queue may have 4, besides 4 in the cluster that is away", runs)
	}
	w.scaleTo(deployments, "ns/web", 4)
	w.reach("m1", true)
	w.settled()
	if runs := w.runs(); runs != 4 || w.granted()["c"] != 4 {
		t.Errorf("%d cores run and %d are charged in the end, want 4", runs, w.granted()["c"])
	}
}

// TestAWorkloadThatIsEvictedGrowsOnlyWithRoom, and does not wait for room in both clusters for ever.
func TestAWorkloadThatIsEvictedGrowsOnlyWithRoom(t *testing.T) {
	for _, looks := range []bool{true, false} {
		for _, c := range []struct {
			cores, want int64
			replicas    int32
		}{{4, 4, 8}, {6, 5, 5}} {
			w := newQueueWorld(t, 1, c.cores, looks)
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.evict("ns/web-deployment", "m1", "m2", 4)
			w.pass(20)
			w.scaleTo(deployments, "ns/web", c.replicas)
			w.pass(5)
			w.evict("ns/web-deployment", "", "m2", 4)
			w.sendTo("ns/web-deployment", "m2")
			w.pass(200)
			if runs := w.runs(); runs != c.want || w.granted()["c"] != c.want {
				t.Errorf("of %d cores, %d run and %d are charged, want %d", c.cores, runs, w.granted()["c"], c.want)
			}
		}
	}
}

// TestAHeldWorkloadIsChargedForWhatItLeaves, and not for what it has grown by: it was held before the dispatcher saw that it moves.
func TestAHeldWorkloadIsChargedForWhatItLeaves(t *testing.T) {
	for _, replicas := range []int32{5, 500} {
		w := newQueueWorld(t, 1, 8, true)
		w.deploy("web", 4, "m1")
		w.pass(20)
		w.sendTo("ns/web-deployment", "m2")
		w.reconcile()
		w.scaleTo(deployments, "ns/web", replicas)
		w.deploy("other", 4, "m3")
		for range 100 {
			w.pass(1)
			if runs := w.runs() + w.ends(); runs > 8 || w.granted()["c"] > 8 {
				t.Fatalf("%d cores run at once and %d are charged, and the queue may have 8: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
			}
		}
	}
}

// TestAWorkloadThatMovesThereAndBackKeepsTheChargeForIt: the second move waits until the pods of the first one have ended.
func TestAWorkloadThatMovesThereAndBackKeepsTheChargeForIt(t *testing.T) {
	for _, looks := range []bool{true, false} {
		w := newQueueWorld(t, 1, 4, looks)
		w.deploy("web", 2, "m1")
		w.pass(20)
		w.sendTo("ns/web-deployment", "m2")
		w.pass(3)
		w.deploy("next", 2, "m3")
		w.pass(2)
		w.sendTo("ns/web-deployment", "m1")
		for range 200 {
			w.pass(1)
			if runs := w.runs() + w.ends(); runs > 4 {
				t.Fatalf("%d cores run at once, and the queue may have 4: %v", runs, w.binding("ns/web-deployment").Annotations)
			}
		}
		if runs := w.runs(); runs != 4 || w.granted()["c"] != 4 {
			t.Errorf("%d cores run in the end, and %d are charged, want 4", runs, w.granted()["c"])
		}
	}
}

// TestAMoveIsChargedOnlyUntilItHasEnded: the grant of a Volcano Job whose pods have changed is never lowered otherwise.
func TestAMoveIsChargedOnlyUntilItHasEnded(t *testing.T) {
	w := newQueueWorld(t, 1, 8, true)
	w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
	w.pass(20)
	w.changePods("train")
	w.pass(60)
	w.sendTo("ns/train-job", "m2")
	w.pass(200)
	w.deploy("other", 4, "m3")
	w.pass(60)
	if runs := w.runs(); runs != 8 || w.granted()["c"] != 8 {
		t.Errorf("%d cores run, and %d are charged, want 8", runs, w.granted()["c"])
	}
}

// TestWhatAQueueBeginsToLimitStaysChargedAfterAMove: the grant from before the move does not have it.
func TestWhatAQueueBeginsToLimitStaysChargedAfterAMove(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	withGPU := func(task *batchv1alpha1.TaskSpec) {
		resources := &task.Template.Spec.Containers[0].Resources
		resources.Requests[gpu], resources.Limits = resource.MustParse("1"), corev1.ResourceList{gpu: resource.MustParse("1")}
	}
	for _, limited := range []int{10, 120} {
		w := newQueueWorld(t, 1, 100, true)
		w.train("train", 4, "m1", withGPU)
		w.pass(20)
		w.changePods("train")
		w.pass(20)
		w.sendTo("ns/train-job", "m2")
		w.pass(limited) // while it moves, or afterwards
		q := w.store[queues]["/c"].DeepCopyObject().(*schedulingv1beta1.Queue)
		q.Spec.Capability[gpu] = resource.MustParse("4")
		w.put(queues, q)
		w.pass(130)
		w.scaleTo(jobs, "ns/train", 5)
		w.pass(60)
		w.train("other", 4, "m1", withGPU)
		w.pass(60)
		if runs := w.runs(); runs != 4 {
			t.Errorf("%d pods with one GPU each run, want 4", runs)
		}
	}
}
