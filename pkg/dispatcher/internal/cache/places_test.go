// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestClustersOfWrittenVersionsAreRemembered: the informer lags behind, and two answers to writes (the webhook's) follow each other.
func TestClustersOfWrittenVersionsAreRemembered(t *testing.T) {
	c := newFake(t)
	version := func(rv string, clusters ...string) *workv1alpha2.ResourceBinding {
		rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "train-job", UID: "1", ResourceVersion: rv}}
		rb.Annotations = map[string]string{binding.GrantAnnotation: `{"queue":"team","time":"2026-05-01T12:00:00Z","amounts":[]}`}
		rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "train"}
		for _, name := range clusters {
			rb.Spec.Clusters = append(rb.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		}
		return rb
	}
	if err := c.bindingInformer.GetStore().Add(version("32")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []*workv1alpha2.ResourceBinding{version("47", "m1"), version("68")} {
		c.Wrote(step)
		snapshot, err := c.Snapshot(time.Now())
		if err != nil || len(snapshot.Workloads) != 1 {
			t.Fatal(err)
		}
		if places := snapshot.Workloads[0].Places; !slices.Contains(places, "m1") {
			t.Errorf("version %s: it may run in %v, want m1 as well", step.ResourceVersion, places)
		}
	}
}
