// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestAWorkloadThatMovesGrowsOnlyWithRoom: while a workload moves, its queue is charged for both clusters, whether there is room or not. What it then asks
// for must not take the room that it leaves.
func TestAWorkloadThatMovesGrowsOnlyWithRoom(t *testing.T) {
	for name, grow := range map[string]func(*world){
		"is scaled up":              func(w *world) { w.scaleTo(deployments, "ns/web", 8) },
		"is scaled up beyond both":  func(w *world) { w.scaleTo(deployments, "ns/web", 12) },
		"gets another cluster":      func(w *world) { w.sendTo("ns/web-deployment", "m2", "m3") },
		"is scaled up, and returns": func(w *world) { w.scaleTo(deployments, "ns/web", 8); w.sendTo("ns/web-deployment", "m1") },
	} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				w := newWorld(t, seed, newFixture(t, "").config)
				for _, cluster := range []string{"m1", "m2", "m3"} {
					w.cluster(cluster)
				}
				w.queue("root", "", 0)
				w.queue("c", "root", 4)
				w.replicas = append(w.replicas, w.newReplica())
				defer w.replicas[0].stop()
				w.succeed()
				w.looks = seed%2 == 0
				d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
				d.APIVersion, d.Kind = "apps/v1", "Deployment"
				d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Template: podsOf("c", 1)}
				w.sendTo("ns/web-deployment", "m1")
				w.put(deployments, d)
				w.settled()
				w.sendTo("ns/web-deployment", "m2")
				for rounds := 0; w.granted()["c"] < 8 && rounds < 100; rounds++ {
					w.round()
				}
				if charged := w.granted()["c"]; charged != 8 {
					t.Fatalf("%d cores are charged while it moves, want 8", charged)
				}
				grow(w)
				w.settled()
				if runs := w.runs(); runs != 4 || w.granted()["c"] != 4 {
					t.Errorf("%d cores run and %d are charged, and the queue may have 4: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
				}
				w.queue("c", "root", 24)
				w.settled()
				if runs := w.runs(); runs != w.granted()["c"] || runs < 8 {
					t.Errorf("%d cores run and %d are charged when there is room: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
				}
			})
		}
	}
}

// TestAWorkloadThatGrowsJustAfterItMovedDoesNotWaitForRoomInBothClusters: the dispatcher has not charged the move when the growth is held.
func TestAWorkloadThatGrowsJustAfterItMovedDoesNotWaitForRoomInBothClusters(t *testing.T) {
	for _, looks := range []bool{false, true} {
		w := newWorld(t, 1, newFixture(t, "").config)
		w.cluster("m1")
		w.cluster("m2")
		w.queue("root", "", 0)
		w.queue("c", "root", 6)
		w.replicas = append(w.replicas, w.newReplica())
		defer w.replicas[0].stop()
		w.succeed()
		w.looks = looks
		job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train"}}
		job.APIVersion, job.Kind = "batch.volcano.sh/v1alpha1", "Job"
		job.Spec = batchv1alpha1.JobSpec{Queue: "c", MinAvailable: 1, Tasks: []batchv1alpha1.TaskSpec{{Name: "t", Replicas: 4, Template: podsOf("c", 1)}}}
		w.sendTo("ns/train-job", "m1")
		w.put(jobs, job)
		w.settled()
		w.sendTo("ns/train-job", "m2")
		w.reconcile()
		w.scaleTo(jobs, "ns/train", 5)
		w.settled()
		if state := w.stateOf(w.binding("ns/train-job")); state.Hold != nil || w.runs() != 5 || w.granted()["c"] != 5 {
			t.Errorf("%d cores run and %d are charged, want 5, and the hold is %+v", w.runs(), w.granted()["c"], state.Hold)
		}
	}
}

// sendTo makes the policy of a binding name clusters, each of which gets the whole workload.
func (w *world) sendTo(key string, clusters ...string) {
	w.policies[key] = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
}

// runs returns how many cores run in all clusters.
func (w *world) runs() (cores int64) {
	for _, o := range w.store[works] {
		cores += w.content[string(o.GetUID())].has.cores()
	}
	return cores
}
