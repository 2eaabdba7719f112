// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// fleet returns the clusters a, b, and c in zone 1, and d in zone 2.
func fleet() []*clusterv1alpha1.Cluster {
	var clusters []*clusterv1alpha1.Cluster
	for name, zone := range map[string]string{"a": "1", "b": "1", "c": "1", "d": "2"} {
		clusters = append(clusters, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}})
	}
	return clusters
}

type change func(*workv1alpha2.ResourceBinding)

func rb(changes ...change) *workv1alpha2.ResourceBinding {
	rb := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}, Placement: &policyv1alpha1.Placement{},
	}}
	for _, c := range changes {
		c(rb)
	}
	return rb
}

func of(apiVersion, kind string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Resource.APIVersion, rb.Spec.Resource.Kind = apiVersion, kind
	}
}

func replicas(n int32) change {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Replicas = n }
}

func on(name string, replicas int32) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: replicas})
	}
}

func requiredOn(name string, replicas int32) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.RequiredBy = append(rb.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Clusters: []workv1alpha2.TargetCluster{{Name: name, Replicas: replicas}}})
	}
}

func evicted(name string, replicas *int32) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: name, Replicas: replicas})
	}
}

func divide(by policyv1alpha1.ReplicaDivisionPreference, weights *policyv1alpha1.ClusterPreferences) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: by, WeightPreference: weights}
	}
}

var aggregated = divide(policyv1alpha1.ReplicaDivisionPreferenceAggregated, nil)

func components(names ...string) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		for _, name := range names {
			rb.Spec.Components = append(rb.Spec.Components, workv1alpha2.Component{Name: name, Replicas: 1})
		}
	}
}

func constrain(by policyv1alpha1.SpreadFieldValue, label string, most int) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.Placement.SpreadConstraints = append(rb.Spec.Placement.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByField: by, SpreadByLabel: label, MaxGroups: most})
	}
}

func only(affinity policyv1alpha1.ClusterAffinity) change {
	return func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement.ClusterAffinity = &affinity }
}

func inOrder(affinities ...policyv1alpha1.ClusterAffinity) change {
	return func(rb *workv1alpha2.ResourceBinding) {
		for _, affinity := range affinities {
			rb.Spec.Placement.ClusterAffinities = append(rb.Spec.Placement.ClusterAffinities, policyv1alpha1.ClusterAffinityTerm{ClusterAffinity: affinity})
		}
	}
}

// followed makes the scheduler have followed the current placement of the binding. Later changes of the placement are new to the scheduler.
func followed(rb *workv1alpha2.ResourceBinding) {
	text, err := json.Marshal(rb.Spec.Placement)
	if err != nil {
		panic(err)
	}
	rb.Annotations = map[string]string{"policy.karmada.io/applied-placement": string(text)}
}

func zone(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"zone": name}}
}

func TestSpreadOfWholeWorkloads(t *testing.T) {
	volcanoJob := of("batch.volcano.sh/v1alpha1", "Job")
	noPlacement := func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement = nil }
	for _, c := range []struct {
		name string
		rb   *workv1alpha2.ResourceBinding
		want framework.Spread
	}{
		{"every cluster may be chosen", rb(replicas(4)), framework.Spread{Copies: 4}},
		{"and no more count once some are", rb(replicas(4), on("a", 4), on("d", 4)), framework.Spread{Copies: 2}},
		{"a cluster that evicts it counts besides", rb(replicas(4), on("a", 4), evicted("b", ptr.To[int32](4))), framework.Spread{Copies: 1, Leaving: 1}},
		{"once", rb(replicas(4), on("a", 4), evicted("a", ptr.To[int32](4))), framework.Spread{Copies: 1}},
		{"beside all others that may be chosen", rb(replicas(4), evicted("b", nil)), framework.Spread{Copies: 3, Leaving: 1}},
		{"and that a new placement adds", rb(replicas(4), only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a"}}), on("a", 4), evicted("b", nil), followed, only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a", "b", "c"}})), framework.Spread{Copies: 2, Leaving: 1}},
		{"and that are limited", rb(replicas(4), constrain("cluster", "", 1), evicted("b", nil)), framework.Spread{Copies: 1, Leaving: 1}},
		{"what depends on it brings clusters", rb(replicas(4), on("a", 4), requiredOn("a", 1), requiredOn("b", 1)), framework.Spread{Copies: 2}},
		{"a cluster has more replicas than the template", rb(replicas(4), on("a", 6), on("b", 4)), framework.Spread{Copies: 2, Replicas: 6}},
		{"the binding has more replicas than the template", rb(replicas(5), on("a", 4)), framework.Spread{Copies: 1, Replicas: 5}},
		{"an eviction has more replicas than the template", rb(replicas(4), on("a", 4), evicted("b", ptr.To[int32](7))), framework.Spread{Copies: 1, Leaving: 1, Replicas: 7}},
		{"the scheduler has followed the placement", rb(replicas(4), on("a", 4), followed), framework.Spread{Copies: 1}},
		{"a new placement may bring all clusters that it allows", rb(replicas(4), only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a"}}), on("a", 4), followed, only(policyv1alpha1.ClusterAffinity{})), framework.Spread{Copies: 4}},
		{"a new placement that allows one cluster moves it", rb(replicas(4), only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a"}}), on("a", 4), followed, only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"b"}})), framework.Spread{Copies: 1}},
		{"a new placement takes none of the clusters at once", rb(replicas(4), on("a", 4), on("b", 4), followed, constrain("cluster", "", 1)), framework.Spread{Copies: 2}},
		{"replicas that are no longer divided", rb(aggregated, replicas(4), on("a", 1), on("b", 3), followed, func(rb *workv1alpha2.ResourceBinding) { rb.Spec.Placement.ReplicaScheduling = nil }), framework.Spread{Copies: 4}},
		{"a note of the scheduler that cannot be read", rb(replicas(4), on("a", 4), func(rb *workv1alpha2.ResourceBinding) {
			rb.Annotations = map[string]string{"policy.karmada.io/applied-placement": "{"}
		}), framework.Spread{Copies: 4}},
		{"no clusters in zone 3, yet", rb(only(policyv1alpha1.ClusterAffinity{LabelSelector: zone("3")})), framework.Spread{Copies: 1}},
		{"no placement", rb(noPlacement), framework.Spread{Copies: 1}},
		{"clusters by name", rb(only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a", "d", "x"}})), framework.Spread{Copies: 2}},
		{"as many as can be compared", rb(only(policyv1alpha1.ClusterAffinity{ClusterNames: slices.Repeat([]string{"a"}, maxTerms-1)})), framework.Spread{Copies: 1}},
		{"more than can be compared", rb(only(policyv1alpha1.ClusterAffinity{ClusterNames: slices.Repeat([]string{"a"}, maxTerms)})), framework.Spread{Copies: 4}},
		{"clusters by label", rb(only(policyv1alpha1.ClusterAffinity{LabelSelector: zone("1")})), framework.Spread{Copies: 3}},
		{"all but one", rb(only(policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"a"}})), framework.Spread{Copies: 3}},
		{"names, labels, and exceptions", rb(only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a", "b", "d"}, LabelSelector: zone("1"), ExcludeClusters: []string{"b"}})), framework.Spread{Copies: 1}},
		{"fields do not count", rb(only(policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{}})), framework.Spread{Copies: 4}},
		{"a selector that is wrong", rb(only(policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Near"}}}})), framework.Spread{Copies: 1}},
		{"the widest of several affinities", rb(inOrder(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"d"}}, policyv1alpha1.ClusterAffinity{LabelSelector: zone("1")})), framework.Spread{Copies: 3}},
		{"at most so many clusters", rb(constrain("cluster", "", 2)), framework.Spread{Copies: 2}},
		{"clusters are the default", rb(constrain("", "", 2)), framework.Spread{Copies: 2}},
		{"no limit", rb(constrain("cluster", "", 0)), framework.Spread{Copies: 4}},
		{"a limit by label is not one of clusters", rb(constrain("", "zone", 1)), framework.Spread{Copies: 4}},
		{"one cluster in each region", rb(constrain("region", "", 3), constrain("cluster", "", 2)), framework.Spread{Copies: 3}},
		{"any number of regions", rb(constrain("region", "", 0), constrain("cluster", "", 2)), framework.Spread{Copies: 4}},
		{"a Volcano Job is not divided", rb(volcanoJob, aggregated, components("a"), replicas(3)), framework.Spread{Copies: 4}},
		{"unless one cluster gets it", rb(volcanoJob, aggregated, constrain("cluster", "", 1)), framework.Spread{Copies: 1}},
		{"static weights forget the limit", rb(volcanoJob, divide(policyv1alpha1.ReplicaDivisionPreferenceWeighted, nil), constrain("cluster", "", 1)), framework.Spread{Copies: 4}},
		{"dynamic weights do not", rb(volcanoJob, divide(policyv1alpha1.ReplicaDivisionPreferenceWeighted, &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}),
			constrain("cluster", "", 1)), framework.Spread{Copies: 1}},
		{"several components are not divided", rb(of("flink", "Flink"), aggregated, components("a", "b"), replicas(3)), framework.Spread{Copies: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Of(c.rb, nil, replicated(4), fleet()); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func replicated(n int64) *workload.Template {
	return &workload.Template{Pods: []workload.PodSet{{Count: n}}}
}

func TestSpreadOfDividedReplicas(t *testing.T) {
	for _, c := range []struct {
		name string
		rb   *workv1alpha2.ResourceBinding
		want framework.Spread
	}{
		{"nothing is chosen", rb(aggregated, replicas(4)), framework.Spread{Clusters: 4}},
		{"all are assigned", rb(aggregated, replicas(4), on("a", 1), on("b", 3)), framework.Spread{Clusters: 2}},
		{"clusters still have more than the template", rb(aggregated, replicas(4), on("a", 3), on("b", 3)), framework.Spread{Replicas: 6, Clusters: 2}},
		{"the binding still has more than the template", rb(aggregated, replicas(6)), framework.Spread{Replicas: 6, Clusters: 4}},
		{"the template has more than clusters", rb(aggregated, replicas(4), on("a", 1)), framework.Spread{Clusters: 4}},
		{"an eviction comes on top", rb(aggregated, replicas(4), on("a", 4), evicted("b", ptr.To[int32](4))), framework.Spread{Clusters: 1, Evicting: 1, Evicted: 4}},
		{"even before others are chosen", rb(aggregated, replicas(4), evicted("b", ptr.To[int32](3))), framework.Spread{Clusters: 4, Evicting: 1, Evicted: 3}},
		{"an eviction of nothing", rb(aggregated, replicas(4), on("a", 4), evicted("b", nil)), framework.Spread{Clusters: 1, Evicting: 1}},
		{"what depends on it brings replicas", rb(aggregated, replicas(4), on("a", 4), requiredOn("a", 9), requiredOn("b", 2)), framework.Spread{Replicas: 6, Clusters: 2}},
		{"negative numbers do not hide others", rb(aggregated, replicas(4), on("a", 6), on("b", -6), evicted("c", ptr.To[int32](-1))), framework.Spread{Replicas: 6, Clusters: 2, Evicting: 1}},
		{"one component", rb(aggregated, replicas(4), components("a")), framework.Spread{Clusters: 4}},
		{"static weights", rb(divide(policyv1alpha1.ReplicaDivisionPreferenceWeighted, nil), replicas(4)), framework.Spread{Clusters: 4}},
		{"the placement admits fewer clusters", rb(aggregated, replicas(4), constrain("cluster", "", 2)), framework.Spread{Clusters: 2}},
		{"a new placement may bring other clusters", rb(aggregated, replicas(4), only(policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a"}}), on("a", 4), followed, only(policyv1alpha1.ClusterAffinity{})), framework.Spread{Clusters: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Copies, c.want.Divided = 1, true
			if got := Of(c.rb, nil, replicated(4), fleet()); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestReplicasAreDividedAmongNoMoreClustersThanThereAreReplicas(t *testing.T) {
	if got := Of(rb(aggregated, replicas(2)), nil, replicated(2), fleet()).Clusters; got != 2 {
		t.Errorf("among %d clusters, want 2", got)
	}
	// The surge does not add replicas that wait for a cluster.
	surging := replicated(6)
	surging.Surged = 2
	if got := Of(rb(aggregated, replicas(4), on("a", 4)), nil, surging, fleet()).Clusters; got != 1 {
		t.Errorf("with a surge, among %d clusters, want 1", got)
	}
}

// TestReplicasThatMembersRetainCountIfTheyAreMore compares them with the replicas of the template.
func TestReplicasThatMembersRetainCountIfTheyAreMore(t *testing.T) {
	in := func(cluster string, replicas int) *workv1alpha1.Work {
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster}}
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"replicas":%d}`, replicas)}}}
		return work
	}
	divided := framework.Spread{Copies: 1, Divided: true}
	none := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-b"}}
	only := func(names ...string) change { return only(policyv1alpha1.ClusterAffinity{ClusterNames: names}) }
	for _, c := range []struct {
		name    string
		spread  framework.Spread
		retains bool
		rb      *workv1alpha2.ResourceBinding
		works   []*workv1alpha1.Work
		want    int64
	}{
		{"without the label", framework.Spread{Copies: 1}, false, rb(), []*workv1alpha1.Work{in("a", 9)}, 0},
		{"a cluster has more", framework.Spread{Copies: 2}, true, rb(), []*workv1alpha1.Work{in("a", 9), in("b", 5)}, 9},
		{"clusters have more together", divided, true, rb(replicas(4), on("a", 2), on("b", 2)), []*workv1alpha1.Work{in("a", 3), in("b", 3)}, 6},
		{"clusters have fewer", divided, true, rb(replicas(4), on("a", 2), on("b", 2)), []*workv1alpha1.Work{in("a", 1), in("b", 2)}, 0},
		{"the binding says more", framework.Spread{Copies: 1, Replicas: 10}, true, rb(), []*workv1alpha1.Work{in("a", 9)}, 10},
		{"nothing is reported", framework.Spread{Copies: 1}, true, rb(), []*workv1alpha1.Work{none}, 0},
		{"a cluster keeps what another one gets", divided, true, rb(replicas(4), on("a", 1), on("b", 3)), []*workv1alpha1.Work{in("a", 4)}, 7},
		{"also before it has reported", divided, true, rb(replicas(4), on("a", 1), on("b", 3)), []*workv1alpha1.Work{in("a", 4), none}, 7},
		{"and what another one may get that is not chosen", divided, true, rb(replicas(4), on("a", 1)), []*workv1alpha1.Work{in("a", 4)}, 7},
		{"if there is one", divided, true, rb(replicas(4), only("a"), on("a", 1)), []*workv1alpha1.Work{in("a", 4)}, 0},
		{"all of it with a new placement", divided, true, rb(replicas(4), only("a"), on("a", 4), followed, only("a", "b")), []*workv1alpha1.Work{in("a", 4)}, 8},
		{"unless that allows one cluster", divided, true, rb(replicas(4), only("a"), on("a", 4), followed, only("a", "b"), constrain("cluster", "", 1)), []*workv1alpha1.Work{in("a", 4)}, 0},
		{"what leaves a cluster is counted elsewhere", divided, true, rb(replicas(4), only("a"), on("a", 4), followed, only("b")), []*workv1alpha1.Work{in("a", 4)}, 0},
		{"and may be left already", divided, true, rb(replicas(4), on("b", 4)), []*workv1alpha1.Work{in("a", 4)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			template := &workload.Template{RetainsReplicas: c.retains, Pods: []workload.PodSet{{Count: 4}}}
			if got := Retained(c.spread, c.rb, template, c.works, fleet()); got.Replicas != c.want || got.Copies != c.spread.Copies {
				t.Errorf("got %+v, want %d replicas", got, c.want)
			}
		})
	}
}
