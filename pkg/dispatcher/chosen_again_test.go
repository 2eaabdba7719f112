// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const web = "ns/web-deployment"

// chooses acts as Karmada's scheduler that chooses clusters for the current placement.
func (w *world) chooses(clusters ...string) {
	rb := w.binding(web).DeepCopy()
	metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, string(must(jsonOf(rb.Spec.Placement))))
	rb.Spec.Clusters = nil
	for _, c := range clusters {
		rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: c, Replicas: rb.Spec.Replicas})
	}
	if !w.write(rb) {
		w.t.Fatal("refused")
	}
	rb = w.binding(web).DeepCopy()
	rb.Status.SchedulerObservedGeneration, rb.Status.LastScheduledTime = rb.Generation, &metav1.Time{Time: w.clock}
	w.put(bindings, rb)
}

// TestClustersThatAreChosenAgainWaitForRoom although the placement is the same: a cluster returns, or Karmada goes on to another group of clusters.
func TestClustersThatAreChosenAgainWaitForRoom(t *testing.T) {
	groups := policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "a", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		{AffinityName: "b", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2", "m3"}}},
	}}
	both := policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}}}
	for _, c := range []struct {
		name      string
		placement *policyv1alpha1.Placement
		happens   func(*world)
	}{
		{"a cluster returns", &both, func(w *world) { w.chooses("m1", "m2") }},
		{"a workload is evicted and comes back", &both, func(w *world) {
			w.evict(web, "m1", "m2", 4)
			w.pass(10)
			w.endEvictions(web)
			w.pass(60)
			w.chooses("m1", "m2")
		}},
		{"another group of clusters is wider", &groups, func(w *world) {
			w.evict(web, "m1", "", 4)
			w.chooses("m2", "m3")
			w.pass(20)
			w.endEvictions(web)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newQueueWorld(t, 1, 8, true)
			w.deploy("web", 4, "m1")
			w.pass(60)
			w.deploy("other", 4, "m4")
			w.pass(60)
			w.policies[web] = c.placement
			rb := w.binding(web).DeepCopy() // the scheduler has followed it while the other clusters were away
			rb.Spec.Placement = c.placement.DeepCopy()
			metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, string(must(jsonOf(rb.Spec.Placement))))
			w.save(rb)
			w.pass(60)
			c.happens(w)
			w.pass(90)
			if runs := w.runs(); runs != 8 {
				t.Errorf("%d cores run, want the 8 that the queue may have: %v %v", runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
			}
			w.queue("c", "root", 12)
			w.pass(120)
			if runs := w.runs(); runs != 12 && len(c.placement.ClusterAffinities) == 0 {
				t.Errorf("%d cores run when the queue may have 12: %v %v", runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
			}
		})
	}
}

// TestAClusterThatIsLostIsReplacedWhileAnotherOneWaitsForRoom: the queue has granted as many clusters.
func TestAClusterThatIsLostIsReplacedWhileAnotherOneWaitsForRoom(t *testing.T) {
	w := newQueueWorld(t, 1, 12, true)
	w.deploy("web", 4, "m1")
	w.sendTo(web, "m1", "m2")
	w.pass(60)
	w.deploy("other", 4, "m4")
	w.pass(60)
	w.policies[web].ClusterAffinity.ClusterNames = []string{"m1", "m2", "m3"}
	rb := w.binding(web).DeepCopy() // as if m3 had a new label
	rb.Spec.Placement = w.policies[web].DeepCopy()
	metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, string(must(jsonOf(rb.Spec.Placement))))
	w.save(rb)
	w.chooses("m1", "m2", "m3")
	w.pass(60)
	if rb := w.binding(web); w.runs() != 12 || len(rb.Spec.Clusters) != 2 || rb.Annotations["volcano.sh/hold"] == "" {
		t.Fatalf("%d cores run: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
	}
	w.evict(web, "m2", "m1", 4)
	w.pass(30)
	w.endEvictions(web)
	w.pass(60)
	if rb := w.binding(web); w.runs() != 12 || len(rb.Spec.Clusters) != 2 || rb.Spec.Clusters[1].Name != "m3" {
		t.Errorf("%d cores run after the eviction: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
	}
}

// TestReplicasOfAClusterThatIsAwayAreNotMadeAgainElsewhere: it still runs those that it was to give up.
func TestReplicasOfAClusterThatIsAwayAreNotMadeAgainElsewhere(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newQueueWorld(t, seed, 4, seed%2 == 0)
			w.deploy("web", 4, "m1")
			w.policies[web] = &policyv1alpha1.Placement{
				ClusterAffinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}},
				ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided},
			}
			w.pass(60)
			w.reach("m1", false)
			w.pass(5)
			for _, replicas := range []int32{1, 4} {
				w.scaleTo(deployments, "ns/web", replicas)
				w.pass(60)
			}
			if runs := w.runs(); runs > 4 {
				t.Errorf("%d cores run, and the queue may have 4: %v %v", runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
			}
			w.reach("m1", true)
			w.pass(120)
			if runs := w.runs(); runs != 4 {
				t.Errorf("%d cores run when the cluster is back: %v %v", runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
			}
		})
	}
}

// TestAWorkloadThatFailsEverywhereHasTwoPlacesAtMost: its policy may keep it where it has failed as long as its user likes.
func TestAWorkloadThatFailsEverywhereHasTwoPlacesAtMost(t *testing.T) {
	w := newQueueWorld(t, 1, 4, true)
	w.deploy("web", 4, "m1")
	w.sendTo(web, "m1", "m2", "m3", "m4")
	w.policies[web].SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1}}
	w.pass(60)
	fails := func() {
		rb := w.binding(web).DeepCopy()
		for _, c := range rb.Spec.Clusters {
			rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{
				FromCluster: c.Name, Replicas: &c.Replicas, Reason: workv1alpha2.EvictionReasonApplicationFailure, SuppressDeletion: ptr.To(true),
			})
		}
		rb.Spec.Clusters = nil
		if !w.write(rb) {
			t.Fatal("refused")
		}
		w.pass(30)
	}
	for range 4 {
		fails()
		if runs := w.runs(); runs != 8 {
			t.Fatalf("%d cores run, want those of two clusters: %v %v", runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
		}
	}
	w.endEvictions(web)
	w.pass(120)
	if rb := w.binding(web); w.runs() != 4 || len(rb.Spec.Clusters) != 1 {
		t.Errorf("%d cores run when the clusters have let go: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
	}
	fails()
	if runs := w.runs(); runs != 8 {
		t.Errorf("%d cores run after another failure: %v", runs, w.binding(web).Annotations)
	}
}
