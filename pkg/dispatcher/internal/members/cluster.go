// SPDX-License-Identifier: Apache-2.0

package members

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// cluster is what a Cluster object says. It does not change: another object is another cluster.
type cluster struct {
	object *clusterv1alpha1.Cluster
	ready  bool
	// taints are those that keep workloads away.
	taints []corev1.Taint
	// kinds are the kinds that the member serves.
	kinds map[kind]bool
	// resources are the figures of the resource summary, nil if there is none.
	resources figures
}

// kind is a kind of objects in a version of an API.
type kind struct{ apiVersion, kind string }

func newCluster(object *clusterv1alpha1.Cluster) *cluster {
	c := &cluster{
		object: object, ready: meta.IsStatusConditionTrue(object.Status.Conditions, clusterv1alpha1.ClusterConditionReady),
		kinds: map[kind]bool{}, resources: resourcesOf(object.Status.ResourceSummary),
	}
	for _, taint := range object.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
			c.taints = append(c.taints, taint)
		}
	}
	for _, api := range object.Status.APIEnablements {
		for _, resource := range api.Resources {
			c.kinds[kind{api.GroupVersion, resource.Kind}] = true
		}
	}
	return c
}

// obstacle says why Karmada's scheduler chooses the cluster for nothing new of a binding, whatever is free there.
type obstacle int

const (
	none obstacle = iota
	notReady
	tainted
	lacksKind
	noSummary
)

// obstacleFor returns the first obstacle for a binding that has not got the cluster yet.
func (c *cluster) obstacleFor(spec *workv1alpha2.ResourceBindingSpec) obstacle {
	switch _, repelled := c.repelling(spec); {
	case !c.ready:
		return notReady
	case repelled:
		return tainted
	case !c.kinds[kind{spec.Resource.APIVersion, spec.Resource.Kind}]:
		return lacksKind
	case c.resources == nil:
		return noSummary
	}
	return none
}

// repelling returns a taint that the placement does not tolerate.
func (c *cluster) repelling(spec *workv1alpha2.ResourceBindingSpec) (corev1.Taint, bool) {
	var tolerations []corev1.Toleration
	if spec.Placement != nil {
		tolerations = spec.Placement.ClusterTolerations
	}
	return v1helper.FindMatchingUntoleratedTaint(c.taints, tolerations, nil)
}

// explain says what an obstacle is, for people.
func (c *cluster) explain(o obstacle, spec *workv1alpha2.ResourceBindingSpec) string {
	name := c.object.Name
	switch o {
	case notReady:
		return fmt.Sprintf("cluster %s is not ready", name)
	case tainted:
		taint, _ := c.repelling(spec)
		return fmt.Sprintf("cluster %s has the taint {%s}, which the placement does not tolerate", name, taint.ToString())
	case lacksKind:
		return fmt.Sprintf("cluster %s does not serve %s %s", name, spec.Resource.APIVersion, spec.Resource.Kind)
	default:
		return fmt.Sprintf("cluster %s reports no resource summary", name)
	}
}
