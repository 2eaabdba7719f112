// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
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

// TestPodsOfALargerNumberAreNoSurge: a cluster that is away keeps eight pods of a paused Deployment, is to have seven, and the eighth is made elsewhere.
func TestPodsOfALargerNumberAreNoSurge(t *testing.T) {
	const web = "ns/web-deployment"
	for seed := range uint64(20) {
		w := newQueueWorld(t, seed, 8, seed%2 == 0)
		w.deploy("web", 8, "m1")
		w.divideTo(web, "m1", "m2")
		d := w.store[deployments]["ns/web"].DeepCopyObject().(*appsv1.Deployment)
		d.Spec.Paused = true
		w.put(deployments, d)
		w.pass(60)
		w.reach("m1", false)
		w.pass(5)
		for _, replicas := range []int32{6, 8} {
			w.scaleTo(deployments, "ns/web", replicas)
			for range 60 {
				if w.pass(1); w.runs() > 8 {
					t.Fatalf("seed %d: %d cores run, %d are charged, and the queue may have 8: %v", seed, w.runs(), w.granted()["c"], w.binding(web).Spec.Clusters)
				}
			}
		}
	}
}
