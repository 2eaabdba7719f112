// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"encoding/json"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// Of returns to how many of the clusters a workload goes. Karmada gives each cluster as many replicas as the binding says
// there, whatever the template says by now, so that the larger number counts. A cluster that the workload is being evicted
// from keeps its replicas until others run elsewhere.
func Of(rb *workv1alpha2.ResourceBinding, template *workload.Template, clusters []*clusterv1alpha1.Cluster) framework.Spread {
	replicas := template.Unsurged()
	if divided(rb) {
		all := dividedReplicas(rb, replicas)
		return framework.Spread{Copies: 1, Divided: true, Replicas: beyond(replicas, all), Clusters: min(all, dividedAmong(rb, template, clusters))}
	}
	s := framework.Spread{Copies: copies(rb, clusters)}
	if rb.Spec.Replicas > 0 {
		s.Replicas = beyond(replicas, largest(rb))
	}
	return s
}

// Retained returns a spread with the replicas that clusters report, if Karmada leaves their number to them: they may be more than the
// template says.
func Retained(s framework.Spread, template *workload.Template, works []*workv1alpha1.Work) framework.Spread {
	if !template.RetainsReplicas {
		return s
	}
	var all, most int64
	for _, work := range works {
		reported := workload.Reported(binding.StatusIn(work))
		all, most = all+reported, max(most, reported)
	}
	if s.Divided {
		most = all
	}
	s.Replicas = max(s.Replicas, beyond(template.Unsurged(), most))
	return s
}

// Left adds clusters that a workload has left, and that may still run it: each all that it had, whatever that was.
func Left(s framework.Spread, template *workload.Template, clusters int64) framework.Spread {
	if s.Divided && clusters > 0 {
		s.Replicas = max(s.Replicas, template.Unsurged()) + clusters*template.Replicas()
		s.Clusters += clusters
		return s
	}
	s.Copies += clusters
	return s
}

// divided reports whether each cluster gets a part of the replicas. Karmada divides no Volcano Jobs, and nothing that has
// several components, even if the placement says so.
func divided(rb *workv1alpha2.ResourceBinding) bool {
	kind := schema.FromAPIVersionAndKind(rb.Spec.Resource.APIVersion, rb.Spec.Resource.Kind)
	return rb.Spec.Placement != nil && rb.Spec.Placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided &&
		rb.Spec.Replicas > 0 && len(rb.Spec.Components) <= 1 && kind.GroupKind() != workload.VolcanoJob.GroupKind()
}

// dividedReplicas returns how many replicas all clusters have, or may come to have.
func dividedReplicas(rb *workv1alpha2.ResourceBinding, replicas int64) int64 {
	var evicted int64
	for i := range rb.Spec.GracefulEvictionTasks {
		evicted += int64(max(0, ptr.Deref(rb.Spec.GracefulEvictionTasks[i].Replicas, 0)))
	}
	return max(replicas, int64(rb.Spec.Replicas), assigned(rb)) + evicted
}

// assigned returns how many replicas clusters have together.
func assigned(rb *workv1alpha2.ResourceBinding) int64 {
	var all int64
	for _, target := range targets(rb) {
		all += int64(max(0, target))
	}
	return all
}

// dividedAmong returns among how many clusters replicas are divided at most. For those that no cluster has yet, Karmada may choose any.
func dividedAmong(rb *workv1alpha2.ResourceBinding, template *workload.Template, clusters []*clusterv1alpha1.Cluster) int64 {
	among := copies(rb, clusters)
	if assigned(rb) < max(int64(rb.Spec.Replicas), template.Unsurged()) {
		known := binding.Clusters(rb)
		among = max(among, int64(len(known)+widest(rb.Spec.Placement, clusters, known)))
	}
	return among
}

// largest returns the most replicas that a cluster has.
func largest(rb *workv1alpha2.ResourceBinding) int64 {
	most := int64(rb.Spec.Replicas)
	for _, target := range targets(rb) {
		most = max(most, int64(target))
	}
	for i := range rb.Spec.GracefulEvictionTasks {
		most = max(most, int64(ptr.Deref(rb.Spec.GracefulEvictionTasks[i].Replicas, 0)))
	}
	return most
}

// targets returns how many replicas each cluster has by name: what was chosen for the binding, and for other clusters what
// was chosen for bindings that depend on it.
func targets(rb *workv1alpha2.ResourceBinding) map[string]int32 {
	replicas := make(map[string]int32, len(rb.Spec.Clusters))
	for i := range rb.Spec.Clusters {
		replicas[rb.Spec.Clusters[i].Name] = rb.Spec.Clusters[i].Replicas
	}
	for i := range rb.Spec.RequiredBy {
		for _, c := range rb.Spec.RequiredBy[i].Clusters {
			if _, chosen := replicas[c.Name]; !chosen {
				replicas[c.Name] = c.Replicas
			}
		}
	}
	return replicas
}

// beyond returns n if it is more than what the template says, else zero.
func beyond(template, n int64) int64 {
	if n <= template {
		return 0
	}
	return n
}

// copies returns how many clusters get the whole workload, at least one. While the scheduler has not followed a new
// placement, it may choose as many clusters as that allows, whatever it has chosen before.
func copies(rb *workv1alpha2.ResourceBinding, clusters []*clusterv1alpha1.Cluster) int64 {
	known := binding.Clusters(rb)
	switch {
	case len(rb.Spec.Clusters) == 0:
		return max(1, int64(len(known)+widest(rb.Spec.Placement, clusters, known)))
	case placementIsNew(rb):
		return int64(max(len(known), widest(rb.Spec.Placement, clusters, nil)))
	default:
		return int64(len(known))
	}
}

// appliedPlacement is the annotation in which Karmada's scheduler notes the placement that it has followed.
const appliedPlacement = "policy.karmada.io/applied-placement"

// placementIsNew reports whether the scheduler has chosen clusters for another placement than that of the binding.
// Others who choose clusters may leave the annotation out.
func placementIsNew(rb *workv1alpha2.ResourceBinding) bool {
	text, noted := rb.Annotations[appliedPlacement]
	if !noted || rb.Spec.Placement == nil {
		return false
	}
	followed := policyv1alpha1.Placement{}
	return json.Unmarshal([]byte(text), &followed) != nil || !apiequality.Semantic.DeepEqual(&followed, rb.Spec.Placement)
}
