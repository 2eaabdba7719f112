// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// waitsFor is a world in which web runs in m1, and waits for room in other clusters. Other uses the rest of the queue.
func waitsFor(t *testing.T, looks bool, others ...string) *world {
	w := newQueueWorld(t, 1, 8, looks)
	w.deploy("web", 4, "m1")
	w.pass(60)
	w.deploy("other", 4, "m4")
	w.pass(60)
	rb := w.binding(web).DeepCopy()
	w.policies[web] = rb.Spec.Placement
	rb.Spec.Placement.ClusterAffinity.ClusterNames = append([]string{"m1"}, others...) // as if the other clusters had a new label
	metav1.SetMetaDataAnnotation(&rb.ObjectMeta, appliedPlacement, string(must(jsonOf(rb.Spec.Placement))))
	w.save(rb)
	w.pass(5)
	w.chooses(rb.Spec.Placement.ClusterAffinity.ClusterNames...)
	w.pass(30)
	if h := w.stateOf(w.binding(web)).Hold; h == nil || !h.PlacementOnly {
		t.Fatalf("not held: %v", w.binding(web).Annotations)
	}
	return w
}

// TestWhatWaitsForMoreClustersStillChangesInThoseThatItHas if it needs no more there.
func TestWhatWaitsForMoreClustersStillChangesInThoseThatItHas(t *testing.T) {
	for _, looks := range []bool{true, false} {
		w := waitsFor(t, looks, "m2")
		for _, image := range []string{"v1", "v2"} {
			before := w.store[deployments]["ns/web"].(*appsv1.Deployment)
			after := before.DeepCopy()
			after.Spec.Template.Spec.Containers[0].Image = image
			if response := w.admit("user", admission.WorkloadsPath, "UPDATE", before, after); !response.Allowed {
				t.Fatal(response.Result)
			}
			w.put(deployments, after)
			w.pass(300)
			for _, o := range w.store[works] {
				if has := w.content[string(o.GetUID())].has.generation; o.GetName() == "web-deployment" && has != w.store[deployments]["ns/web"].GetGeneration() {
					t.Errorf("looks %v: cluster m1 has generation %d of image %s", looks, has, image)
				}
			}
		}
		for _, replicas := range []int32{3, 4} {
			w.scaleTo(deployments, "ns/web", replicas)
			w.pass(2)
		}
		w.pass(300)
		if runs := w.runs(); runs != 8 {
			t.Errorf("looks %v: %d cores run after scaling down and up, want 8: %v %v", looks, runs, w.binding(web).Spec.Clusters, w.binding(web).Annotations)
		}
	}
}

// TestWhatWaitsForMoreClustersIsEvictedAndGetsOneOfThem because one is granted.
func TestWhatWaitsForMoreClustersIsEvictedAndGetsOneOfThem(t *testing.T) {
	w := waitsFor(t, true, "m2", "m3")
	w.evict(web, "m1", "", 4)
	w.pass(60)
	w.endEvictions(web)
	w.pass(60)
	if rb := w.binding(web); w.runs() != 8 || len(rb.Spec.Clusters) != 1 {
		t.Errorf("%d cores run, want 8: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
	}
}

// TestWhatWaitsForMoreClustersWaitsForPodsThatEnd when it is scaled down and up.
func TestWhatWaitsForMoreClustersWaitsForPodsThatEnd(t *testing.T) {
	w := waitsFor(t, true, "m2")
	for _, replicas := range []int32{2, 4} {
		w.scaleTo(deployments, "ns/web", replicas)
		w.pass(2)
	}
	w.sendTo(web, "m1") // it waits for no room any more
	for range 60 {
		w.pass(1)
		if all := w.runs() + w.ends(); all > 8 {
			t.Fatalf("%d cores run or end, and the queue may have 8: %v", all, w.binding(web).Annotations)
		}
	}
	if runs := w.runs(); runs != 8 {
		t.Errorf("%d cores run, want 8: %v", runs, w.binding(web).Annotations)
	}
}

// TestAWorkloadDoesNotComeBackBesideItsOwnPodsThatEnd: Karmada chooses the cluster again that it was evicted from.
func TestAWorkloadDoesNotComeBackBesideItsOwnPodsThatEnd(t *testing.T) {
	for _, looks := range []bool{true, false} {
		w := newQueueWorld(t, 1, 4, looks)
		w.deploy("web", 4, "m1")
		w.pass(60)
		for range 4 {
			w.evict(web, "m1", "", 4)
			w.endEvictions(web)
			w.see(web, false) // the binding controller is faster than the scheduler
			w.dispatch(web)
			w.execute("karmada-es-m1/web-deployment")
			w.chooses("m1")
			for range 90 {
				w.pass(1)
				if all := w.runs() + w.ends(); all > 4 {
					t.Fatalf("looks %v: %d cores run or end, and the queue may have 4: %v", looks, all, w.binding(web).Annotations)
				}
			}
			if runs := w.runs(); runs != 4 {
				t.Fatalf("looks %v: %d cores run when the former pods have ended: %v", looks, runs, w.binding(web).Annotations)
			}
		}
	}
}

// TestWhatClustersHaveIsChargedWhileAPlacementWaits: a claim that a workload names may have been replaced in the moment in which it was named.
func TestWhatClustersHaveIsChargedWhileAPlacementWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		placementOnly bool
		copies, now   int64
		want          string
		charged       int64
	}{
		"clusters have more":             {true, 1, 8, "runs GrantExceeded *", 8},
		"two clusters have more":         {true, 2, 8, "runs GrantExceeded *", 16},
		"clusters have what was granted": {true, 1, 4, "runs GrowthHeld", 4},
		"clusters do not see it":         {false, 1, 8, "runs GrowthHeld", 4},
	} {
		f := newFixture(t, "")
		f.queue("team", "root", 8)
		w := f.running("runs", "team", 4*tc.copies, func(w *framework.Workload) {
			w.State.Hold = &binding.Hold{Reason: binding.Growing, PlacementOnly: tc.placementOnly}
			w.State.Grant.Copies, w.State.Grant.Copy = tc.copies, []binding.Amount{{Dimension: cpu, Amount: ledger.Units(4)}}
			w.Spread.Copies = 4
			w.Needs = framework.Needs{Minimum: f.cores(tc.now), Copy: f.cores(tc.now), Settled: f.cores(4 * tc.now), Stays: f.cores(4 * tc.now), All: f.cores(4 * tc.now)}
		})
		c := f.expect(tc.want)
		grant := w.State.Grant
		if len(c.ends) > 0 {
			grant = grantIn(t, c.ends[0].patch)
		}
		if grant.Copies != tc.copies || coresGranted(grant) != tc.charged || coresGranted(&binding.Grant{Amounts: grant.OneCopy()}) != tc.charged/tc.copies {
			t.Errorf("%s: the grant is %+v, want %d cores", name, grant, tc.charged)
		}
	}
}
