// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime"
)

// ended makes a cluster report the end of a Volcano Job.
func ended(cluster string) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Status.AggregatedStatus = append(rb.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
			ClusterName: cluster, Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"state":{"phase":"Completed"}}`)},
		})
	}
}

func evictedFrom(cluster string) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.GracefulEvictionTasks = append(rb.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: cluster})
	}
}

// TestWhatHasEndedDoesNotRunAgainUnasked: its queue may have granted its room to others.
func TestWhatHasEndedDoesNotRunAgainUnasked(t *testing.T) {
	const scheduler = "system:karmada:scheduler"
	job := func(options ...option) *workv1alpha2.ResourceBinding {
		return newBinding(append([]option{ofJob, granting}, options...)...)
	}
	leaves := held(`{"reason":"Returning","queue":"research","ended":true}`)
	for _, c := range []bindingCase{
		{name: "where it has not run", old: job(on("m1", 0), ended("m1")), asked: job(on("m2", 0), ended("m1")), want: job(leaves, ended("m1"))},
		{name: "in one more cluster", old: job(on("m1", 0), ended("m1")), asked: job(on("m1", 0), on("m2", 0), ended("m1")), want: job(leaves, ended("m1"))},
		{name: "when its cluster is taken away first", old: job(on("m1", 0), ended("m1")), asked: job(ended("m1")), want: job(leaves, ended("m1"))},
		{name: "when it was evicted", old: job(evictedFrom("m1"), ended("m1")), asked: job(evictedFrom("m1"), on("m2", 0), ended("m1")), want: job(leaves, ended("m1"))},
		{name: "when changes of it are held", old: job(on("m1", 0), ended("m1"), held(growing), dispatching), asked: job(ended("m1"), held(growing), dispatching),
			want: job(held(`{"reason":"Returning","queue":"research","dispatching":true,"ended":true}`), dispatching, ended("m1"))},
		{name: "but it stays where it has run", old: job(on("m1", 0), on("m2", 0), ended("m1"), ended("m2")), asked: job(on("m1", 0), ended("m1"), ended("m2")),
			want: job(on("m1", 0), ended("m1"), ended("m2"))},
		{name: "but it moves before it has ended", old: job(on("m1", 0)), asked: job(on("m2", 0)), want: job(on("m2", 0))},
		{name: "but it follows what depends on it", old: job(on("m1", 0), ended("m1"), requiredIn("m2")), asked: job(on("m2", 0), ended("m1"), requiredIn("m2")),
			want: job(on("m2", 0), ended("m1"), requiredIn("m2"))},
	} {
		c.user = scheduler
		t.Run(c.name, c.run)
	}
}

func requiredIn(cluster string) option {
	return func(rb *workv1alpha2.ResourceBinding) {
		rb.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "team", Name: "other", Clusters: []workv1alpha2.TargetCluster{{Name: cluster}}}}
	}
}
