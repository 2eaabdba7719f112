// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
)

// divideTo makes the policy of a binding divide the replicas among clusters.
func (w *world) divideTo(key string, clusters ...string) {
	w.sendTo(key, clusters...)
	w.policies[key].ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
}

// TestClustersThatCannotBeToldKeepTheirReplicas: a policy divides replicas anew while the cluster that has them is away, or while the policy suspends
// dispatching to it.
func TestClustersThatCannotBeToldKeepTheirReplicas(t *testing.T) {
	const web = "ns/web-deployment"
	for why, tell := range map[string]func(w *world, told bool){
		"away": func(w *world, told bool) { w.reach("m1", told) },
		"suspended": func(w *world, told bool) {
			if delete(w.suspendsOn, web); !told {
				w.suspendsOn[web] = []string{"m1"}
			}
			w.detect(web)
		},
	} {
		for seed := range uint64(8) {
			for _, cores := range []int64{4, 8} {
				t.Run(fmt.Sprintf("%s, seed %d, %d cores", why, seed, cores), func(t *testing.T) {
					w := newQueueWorld(t, seed, cores, seed%2 == 0)
					w.deploy("web", 4, "m1")
					w.divideTo(web, "m1")
					w.pass(60)
					tell(w, false)
					w.pass(5)
					w.divideTo(web, "m1", "m2")
					for range 120 {
						if w.pass(1); w.runs() > cores {
							t.Fatalf("%d cores run, %d are charged, and the queue may have %d: %v", w.runs(), w.granted()["c"], cores, w.binding(web).Spec.Clusters)
						}
					}
					if held := w.stateOf(w.binding(web)).Hold != nil; held != (cores == 4) {
						t.Errorf("it is held: %t", held)
					}
					tell(w, true)
					w.pass(180)
					if rb := w.binding(web); w.runs() != 4 || w.granted()["c"] != 4 || w.stateOf(rb).Hold != nil {
						t.Errorf("%d run, %d are charged, in %v: %v", w.runs(), w.granted()["c"], rb.Spec.Clusters, rb.Annotations)
					}
				})
			}
		}
	}
}

// TestAPolicyThatSuspendsDispatchingResumesItClusterByCluster: it has divided the replicas anew meanwhile.
func TestAPolicyThatSuspendsDispatchingResumesItClusterByCluster(t *testing.T) {
	const web = "ns/web-deployment"
	for seed := range uint64(8) {
		for _, away := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d, a cluster is away: %t", seed, away), func(t *testing.T) {
				w := newQueueWorld(t, seed, 4, seed%2 == 0)
				w.deploy("web", 4, "m1")
				w.divideTo(web, "m1")
				w.pass(60)
				w.suspends[web] = true
				w.detect(web)
				w.pass(20)
				w.divideTo(web, "m1", "m2")
				w.detect(web)
				w.pass(60)
				delete(w.suspends, web)
				if away {
					w.reach("m1", false)
					w.pass(10)
				} else {
					w.suspendsOn[web] = []string{"m1"}
				}
				w.detect(web)
				for range 120 {
					if w.pass(1); w.runs() > 4 {
						t.Fatalf("%d cores run, %d are charged, and the queue may have 4: %v", w.runs(), w.granted()["c"], w.binding(web).Spec.Clusters)
					}
				}
				delete(w.suspendsOn, web)
				w.reach("m1", true)
				w.detect(web)
				w.pass(180)
				if rb := w.binding(web); w.runs() != 4 || w.granted()["c"] != 4 || w.stateOf(rb).Hold != nil {
					t.Errorf("%d run, %d are charged, in %v: %v", w.runs(), w.granted()["c"], rb.Spec.Clusters, rb.Annotations)
				}
			})
		}
	}
}

// TestTheSurgeOfAClusterThatIsAwayIsNotCharged: it went away while it replaced pods, and reported one more than it was told.
func TestTheSurgeOfAClusterThatIsAwayIsNotCharged(t *testing.T) {
	const web = "ns/web-deployment"
	w := newQueueWorld(t, 1, 4, true)
	w.deploy("web", 4, "m1")
	w.divideTo(web, "m1", "m2")
	w.pass(60)
	target := w.binding(web).Spec.Clusters[0]
	work := w.store[works]["karmada-es-"+target.Name+"/web-deployment"].(*workv1alpha1.Work).DeepCopy()
	n := target.Replicas
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"resourceTemplateGeneration":%d,"generation":2,"observedGeneration":2,"replicas":%d,"updatedReplicas":1,"readyReplicas":%d,"availableReplicas":%d,"unavailableReplicas":1}`,
		w.content[string(work.UID)].has.generation, n+1, n, n)}}}
	w.put(works, work)
	w.reach(target.Name, false)
	w.pass(30)
	if charged := w.granted()["c"]; charged != 4 {
		t.Errorf("%d cores are charged, want 4", charged)
	}
}
