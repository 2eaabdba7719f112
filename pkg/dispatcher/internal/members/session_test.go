// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const remedy = ": wait until something ends there, add nodes, or make its largest part smaller"

func TestTwentyCoresOfTwoClustersDoNotHoldSevenSevenAndSix(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0), member("member2", 10, 0))
	s := w.open()
	for _, name := range []string{"a", "b"} {
		job := w.workload(name, 7)
		if refusal := s.Fits(job); refusal != nil {
			t.Fatalf("%s does not fit: %s", name, refusal.Message)
		}
		s.Take(job)
	}
	refusal := s.Fits(w.workload("c", 6))
	if refusal == nil {
		t.Fatal("six fit")
	}
	const want = "no cluster can hold it in one piece: cluster member1 has <3> of <cpu> free, requested <6>; cluster member2 has <3> of <cpu> free, requested <6>" + remedy
	if refusal.Message != want || refusal.Reason != "NoClusterFits" || refusal.Never {
		t.Errorf("refusal %+v\n   want %s", refusal, want)
	}
	if want := (framework.Scope{Queue: "team", Dimension: cpu}); refusal.Scope != want {
		t.Errorf("scope %+v, want %+v", refusal.Scope, want)
	}
	if refusal := s.Fits(w.workload("d", 3)); refusal != nil {
		t.Errorf("three do not fit: %s", refusal.Message)
	}
}

func TestAWorkloadFitsWhereOthersWouldLeave(t *testing.T) {
	w := newWorld(t, member("member1", 10, 10), member("member2", 10, 10))
	large, small := w.workload("large", 7), w.workload("small", 3)
	w.grant(large)
	w.grant(small)
	assign(large, "member1")
	assign(small, "member2")
	apply(large)
	apply(small)
	w.now = w.now.Add(settleTime)
	s, asker := w.open(), w.workload("asker", 5)
	for range 2 { // an answer changes nothing
		if s.Fits(asker) == nil || s.Fits(asker, small) == nil || s.Fits(asker, large) != nil {
			t.Error("the workload must fit only in the place of the large one")
		}
	}
}

func TestClustersThatAWorkloadMayNotGoToAreNamedWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		place  func(*workv1alpha2.ResourceBindingSpec)
		want   string
	}{
		"a cluster that is not ready": {
			change: func(c *clusterv1alpha1.Cluster) { c.Status.Conditions = nil },
			want:   "no cluster can hold it in one piece: cluster member1 is not ready" + remedy,
		},
		"a taint that the placement does not tolerate": {
			change: func(c *clusterv1alpha1.Cluster) {
				c.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
			},
			want: "no cluster can hold it in one piece: cluster member1 has the taint {k:NoExecute}, which the placement does not tolerate" + remedy,
		},
		"a taint that the placement tolerates": {
			change: func(c *clusterv1alpha1.Cluster) {
				c.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
			},
			place: func(s *workv1alpha2.ResourceBindingSpec) {
				s.Placement.ClusterTolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
			},
		},
		"a taint that keeps nothing away": {
			change: func(c *clusterv1alpha1.Cluster) {
				c.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
			},
		},
		"a kind that the member does not serve": {
			change: func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil },
			want:   "no cluster can hold it in one piece: cluster member1 does not serve batch.volcano.sh/v1alpha1 Job" + remedy,
		},
		"no resource summary": {
			change: func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary = nil },
			want:   "no cluster can hold it in one piece: cluster member1 reports no resource summary" + remedy,
		},
		"an affinity for another cluster": {
			place: func(s *workv1alpha2.ResourceBindingSpec) {
				s.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"other"}}
			},
			want: "no cluster can hold it in one piece: the placement allows no cluster: correct its affinity, or label a cluster so that it matches",
		},
		"an eviction from the cluster": {
			place: func(s *workv1alpha2.ResourceBindingSpec) {
				s.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "member1"}}
			},
			want: "no cluster can hold it in one piece: the placement allows no cluster: correct its affinity, or label a cluster so that it matches",
		},
		"no placement": {place: func(s *workv1alpha2.ResourceBindingSpec) { s.Placement = nil }},
		"a summary without anything": {
			change: func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{} },
			want:   "no cluster can hold it in one piece: cluster member1 has <0> of <cpu> free, requested <2>" + remedy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := member("member1", 10, 0)
			if c.change != nil {
				c.change(object)
			}
			w := newWorld(t, object)
			job := w.workload("a", 2)
			if c.place != nil {
				c.place(&job.Binding.Spec)
			}
			if c.want == "" {
				w.mustFit(job)
			} else {
				w.mustNotFit(job, c.want)
			}
		})
	}
}

func TestWhatIsPendingInAMemberIsNotFree(t *testing.T) {
	object := member("member1", 10, 4)
	object.Status.ResourceSummary.Allocating = corev1.ResourceList{corev1.ResourceCPU: quantity(3)}
	w := newWorld(t, object)
	w.mustFit(w.workload("three", 3))
	w.mustNotFit(w.workload("four", 4), "no cluster can hold it in one piece: cluster member1 has <3> of <cpu> free, requested <4>"+remedy)
}

func TestWithoutClustersNothingFits(t *testing.T) {
	w := newWorld(t)
	w.mustNotFit(w.workload("a", 1), "no cluster can hold it in one piece: there is no cluster: join one")
}

func TestARefusalNamesFewClustersThoseFirstThatLackLeast(t *testing.T) {
	w := newWorld(t, member("a", 10, 10), member("b", 10, 4), member("c", 10, 8), member("d", 10, 9), member("e", 10, 10))
	w.mustNotFit(w.workload("x", 7), "no cluster can hold it in one piece: cluster b has <6> of <cpu> free, requested <7>; "+
		"cluster c has <2> of <cpu> free, requested <7>; cluster d has <1> of <cpu> free, requested <7>; 2 more clusters cannot either"+remedy)
}

func TestAWorkloadThatNoClusterCouldEverHoldKeepsNobodyBehindIt(t *testing.T) {
	down := member("member2", 10, 0)
	down.Status.Conditions = nil
	for _, c := range []struct {
		name     string
		clusters []*clusterv1alpha1.Cluster
		never    bool
		scoped   bool
	}{
		{"no cluster is large enough", []*clusterv1alpha1.Cluster{member("member1", 6, 0)}, true, false},
		{"others use a cluster that is large enough", []*clusterv1alpha1.Cluster{member("member1", 10, 5)}, false, true},
		{"the cluster that is large enough is not ready", []*clusterv1alpha1.Cluster{member("member1", 6, 0), down}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.clusters...)
			refusal := w.fits(w.workload("a", 7))
			if refusal == nil || refusal.Never != c.never || (refusal.Scope != framework.Scope{}) != c.scoped {
				t.Errorf("refusal %+v", refusal)
			}
		})
	}
}

func TestTheLargestPartOfDividedReplicasIsOneReplica(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0), member("member2", 10, 0))
	job := w.workload("web", 4)
	job.Binding.Spec.Replicas, job.Spread.Divided = 4, true
	s := w.open()
	if refusal := s.Fits(job); refusal != nil {
		t.Fatal(refusal.Message)
	}
	s.Take(job) // two in each cluster
	if s.Fits(w.workload("a", 2)) != nil || s.Fits(w.workload("b", 3)) == nil {
		t.Error("four replicas of four cores leave two cores in each cluster")
	}
}

func TestOneOfTheAlternativesIsEnough(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0))
	a, b := ledger.Dimension{Kind: ledger.Card, Name: "A"}, ledger.Dimension{Kind: ledger.Card, Name: "B"}
	job := w.workload("job", 1)
	w.need(job, a, 2)
	w.need(job, b, 2)
	for _, c := range []struct {
		a, b    int64
		choices []ledger.Ordinal
		want    string
	}{
		{2, 1, []ledger.Ordinal{w.dimensions.Ordinal(a), w.dimensions.Ordinal(b)}, ""},
		{0, 2, []ledger.Ordinal{w.dimensions.Ordinal(a), w.dimensions.Ordinal(b)}, ""},
		{1, 1, []ledger.Ordinal{w.dimensions.Ordinal(a), w.dimensions.Ordinal(b)}, "no cluster can hold it in one piece: cluster member1 has <1> of <A> free, requested <2>, and <1> of <B> free, requested <2>" + remedy},
		{2, 1, nil, "no cluster can hold it in one piece: cluster member1 has <1> of <B> free, requested <2>" + remedy},
	} {
		w.members.watchers["member1"].latest.Store(&hardware{looked: true, amounts: figures{a: {total: ledger.Units(c.a)}, b: {total: ledger.Units(c.b)}}})
		if job.Needs.Choices = c.choices; c.want == "" {
			w.mustFit(job)
		} else {
			w.mustNotFit(job, c.want)
		}
	}
}

func TestCopiesGoToDifferentClusters(t *testing.T) {
	w := newWorld(t, member("member1", 10, 0), member("member2", 10, 2), member("member3", 10, 4))
	job := w.workload("a", 6)
	job.Spread.Copies = 2
	s := w.open()
	s.Take(job)
	if s.Fits(w.workload("six", 6)) != nil || s.Fits(w.workload("seven", 7)) == nil {
		t.Error("the copies are not in the two clusters with the most room")
	}
}

func TestAWorkloadThatGrowsNeedsOnlyMoreThanItsGrant(t *testing.T) {
	w := newWorld(t, member("member1", 10, 7), member("member2", 10, 0))
	job := w.workload("a", 7)
	w.grant(job)
	assign(job, "member1")
	apply(job)
	w.now = w.now.Add(2 * settleTime)
	w.open()
	job.State.Hold = &binding.Hold{Reason: binding.Growing}
	job.Needs.Largest = ledger.Amounts{{Dimension: w.dimensions.Ordinal(cpu), Amount: ledger.Units(10)}}
	w.mustFit(job)
	job.Needs.Largest[0].Amount = ledger.Units(11)
	w.mustNotFit(job, "no cluster can hold it in one piece: cluster member1 has <3> of <cpu> free, requested <4>"+remedy)
}

func TestFitsAllocatesNothingWhenItFits(t *testing.T) {
	w := newWorld(t, member("member1", 1, 0), member("member2", 10, 0))
	job := w.workload("a", 7)
	job.Binding.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}}
	s := w.open()
	if allocations := testing.AllocsPerRun(100, func() {
		if s.Fits(job) != nil {
			t.Fatal("it does not fit")
		}
	}); allocations != 0 {
		t.Errorf("%g allocations", allocations)
	}
}

func BenchmarkOpen(b *testing.B) {
	w := newWorld(&testing.T{})
	for i := range 50 {
		w.set(member(fmt.Sprintf("c%02d", i), 1000, 500))
	}
	for i := range 10_000 {
		job := w.workload(fmt.Sprint(i), 1)
		w.grant(job)
		assign(job, fmt.Sprintf("c%02d", i%50))
		apply(job)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.now = w.now.Add(time.Second)
		w.open()
	}
}

func BenchmarkFits(b *testing.B) {
	w := newWorld(&testing.T{})
	for i := range 50 {
		w.set(member(string(rune('a'+i)), 1, 0))
	}
	w.set(member("z", 10, 0))
	job := w.workload("a", 7)
	s := w.open()
	for b.Loop() {
		if s.Fits(job) != nil {
			b.Fatal("it does not fit")
		}
	}
}
