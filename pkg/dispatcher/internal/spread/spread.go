// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// Of returns the spread of a workload. Karmada gives each cluster the number of replicas in the binding, even if the template has
// another number by now, so the larger number counts. A cluster that evicts the workload keeps its replicas until others run elsewhere. Of does not
// know clusters that the workload has left. The grant may be nil.
func Of(rb *workv1alpha2.ResourceBinding, grant *binding.Grant, template *workload.Template, clusters []*clusterv1alpha1.Cluster) framework.Spread {
	replicas, evict := template.Unsurged(), int64(len(binding.Evicting(rb)))
	if binding.Divides(rb) {
		all := max(replicas, int64(rb.Spec.Replicas), assigned(rb))
		return framework.Spread{
			Copies: 1, Divided: true, Replicas: beyond(replicas, all), Clusters: min(all, dividedAmong(rb, template, clusters)),
			Evicting: evict, Evicted: evictedReplicas(rb), Granted: grant,
		}
	}
	s := framework.Spread{Copies: copies(rb, clusters), Leaving: evict, Granted: grant}
	if grant != nil && chooses(rb) {
		s.Copies = max(grant.Copies, int64(len(binding.Kept(rb))))
	}
	if rb.Spec.Replicas > 0 {
		s.Replicas = beyond(replicas, largest(rb))
	}
	return s
}

// chooses reports whether Karmada's scheduler is to choose clusters for the first time, or for a placement that it has followed before. The webhook keeps
// it to the number of clusters that are granted.
func chooses(rb *workv1alpha2.ResourceBinding) bool {
	if _, held := rb.Annotations[binding.HoldAnnotation]; binding.PlacementForgotten(rb) {
		return !held
	}
	return len(rb.Spec.Clusters) == 0 && !binding.PlacementIsNew(rb)
}

// Retained adds the replicas that clusters keep to a spread, whatever Karmada tells them. All clusters do if Karmada leaves the number of replicas to
// them. Others keep theirs while they cannot be told. When Karmada divides the replicas differently, other clusters make theirs beside them.
func Retained(s framework.Spread, rb *workv1alpha2.ResourceBinding, template *workload.Template, works []*workv1alpha1.Work, clusters []*clusterv1alpha1.Cluster) framework.Spread {
	if !template.RetainsReplicas {
		if s.Divided {
			s.Replicas = max(s.Replicas, beyond(template.Unsurged(), besides(rb, template, untold(rb, works, clusters), clusters)))
		}
		return s
	}
	reported, keeps := map[string]int64{}, binding.Kept(rb)
	var all, most int64
	for _, work := range works {
		status := binding.StatusIn(work)
		n := workload.Reported(status)
		most = max(most, n)
		if slices.Contains(keeps, binding.ClusterOf(work)) {
			all += n
		}
		if status != nil {
			reported[binding.ClusterOf(work)] += n
		}
	}
	if s.Divided {
		most = max(all, besides(rb, template, reported, clusters))
	}
	s.Replicas = max(s.Replicas, beyond(template.Unsurged(), most))
	return s
}

// untold returns the replicas of the clusters that Karmada cannot tell another number, because they are away or a policy suspends dispatching to them. It
// includes the surge that they report: nobody knows whether these pods are of a surge, or of a larger number that the cluster was told before.
func untold(rb *workv1alpha2.ResourceBinding, works []*workv1alpha1.Work, clusters []*clusterv1alpha1.Cluster) map[string]int64 {
	var suspended []string
	if s := rb.Spec.Suspension; s != nil && s.DispatchingOnClusters != nil {
		suspended = s.DispatchingOnClusters.ClusterNames
	}
	hold, _ := binding.ParseHold(rb.Annotations[binding.HoldAnnotation])
	all := binding.DispatchingSuspended(rb) && (hold == nil || !hold.Dispatching) // by a policy, which may resume it cluster by cluster
	keep, told := map[string]int64{}, targets(rb)
	for _, c := range clusters {
		if replicas, is := told[c.Name]; is && (all || !framework.Ready(c) || slices.Contains(suspended, c.Name)) {
			keep[c.Name] = int64(replicas)
		}
	}
	for _, work := range works {
		if told, is := keep[binding.ClusterOf(work)]; is {
			keep[binding.ClusterOf(work)] = max(told, workload.Reported(binding.StatusIn(work)))
		}
	}
	return keep
}

// besides returns how many replicas clusters may have if some keep theirs: others have, or may get, those that Karmada assigns to them. A cluster that
// a new placement does not admit is left, and counted as such.
func besides(rb *workv1alpha2.ResourceBinding, template *workload.Template, keeps map[string]int64, clusters []*clusterv1alpha1.Cluster) int64 {
	isNew := binding.PlacementIsNew(rb)
	stays := admits(rb.Spec.Placement)
	var sum int64
	var keep []string
	for _, c := range clusters {
		if n, is := keeps[c.Name]; is && slices.Contains(binding.Clusters(rb), c.Name) && (!isNew || stays(c)) {
			sum, keep = sum+n, append(keep, c.Name)
		}
	}
	if len(keep) == 0 && !template.RetainsReplicas {
		return 0
	}
	for name, replicas := range targets(rb) {
		if _, is := keeps[name]; !is && (!isNew || template.RetainsReplicas) {
			sum += int64(max(0, replicas))
		}
	}
	wanted := max(template.Unsurged(), int64(rb.Spec.Replicas))
	if !isNew {
		wanted = max(0, wanted-assigned(rb))
	}
	if limit, limited := limitOf(rb.Spec.Placement); limited && limit <= len(keep) || widest(rb.Spec.Placement, clusters, keep) == 0 {
		return sum // no other cluster gets any
	}
	return sum + wanted
}

// evictedReplicas returns how many replicas clusters evict.
func evictedReplicas(rb *workv1alpha2.ResourceBinding) (replicas int64) {
	for i := range rb.Spec.GracefulEvictionTasks {
		replicas += int64(max(0, ptr.Deref(rb.Spec.GracefulEvictionTasks[i].Replicas, 0)))
	}
	return replicas
}

// assigned returns how many replicas are assigned to clusters.
func assigned(rb *workv1alpha2.ResourceBinding) int64 {
	var all int64
	for _, target := range targets(rb) {
		all += int64(max(0, target))
	}
	return all
}

// dividedAmong returns the maximum number of clusters that replicas are divided among. Karmada may choose any cluster for unassigned ones.
func dividedAmong(rb *workv1alpha2.ResourceBinding, template *workload.Template, clusters []*clusterv1alpha1.Cluster) int64 {
	among := copies(rb, clusters)
	if assigned(rb) < max(int64(rb.Spec.Replicas), template.Unsurged()) {
		known := binding.Kept(rb)
		among = max(among, int64(len(known)+widest(rb.Spec.Placement, clusters, known)))
	}
	return among
}

// largest returns the largest number of replicas in a cluster.
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

// targets returns the replicas of each cluster by name. The clusters of the binding come before the clusters of bindings that depend on it.
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

// beyond returns n if it exceeds the template, else zero.
func beyond(template, n int64) int64 {
	if n <= template {
		return 0
	}
	return n
}

// copies returns how many clusters get the whole workload, at least one. Until the scheduler has followed a new placement, it may
// choose as many clusters as the placement allows.
func copies(rb *workv1alpha2.ResourceBinding, clusters []*clusterv1alpha1.Cluster) int64 {
	keeps := binding.Kept(rb)
	switch {
	case len(rb.Spec.Clusters) == 0:
		return max(1, int64(len(keeps)+widest(rb.Spec.Placement, clusters, binding.Clusters(rb))))
	case binding.PlacementIsNew(rb):
		return int64(max(len(keeps), widest(rb.Spec.Placement, clusters, binding.Evicting(rb))))
	default:
		return int64(len(keeps))
	}
}
