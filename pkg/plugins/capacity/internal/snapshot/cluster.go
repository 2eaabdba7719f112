// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	podrequests "github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// countCluster counts what there is to share: what the nodes have or, for a resource that the capability
// of root lists, that capability. It may be more than the nodes have now, so that jobs are admitted for
// which an autoscaler adds nodes.
func (s *Snapshot) countCluster() {
	total := s.Total.Clone()
	if root, found := s.Queues[quota.Root]; found && s.Hierarchy {
		written := counted(root.Queue.Spec.Capability)
		if written.MilliCPU > 0 {
			total.MilliCPU = written.MilliCPU
		}
		if written.Memory > 0 {
			total.Memory = written.Memory
		}
		for name, value := range written.ScalarResources {
			total.SetScalar(name, value)
		}
	}
	var err error
	if s.ClusterTotal, err = s.Resources.Amounts(valuesOf(total)); err != nil {
		klog.ErrorS(err, "Failed to count the resources of the cluster, queues have no limits but their own")
	} else if s.ClusterTotal == nil {
		s.ClusterTotal = ledger.Amounts{} // a cluster without nodes
	}
}

// counted returns what a queue lists of resources. Volcano takes quantities that it cannot count for anything, also for none.
func counted(list corev1.ResourceList) *api.Resource {
	return api.NewResource(podrequests.Bounded(quota.Resources(list)))
}

func valuesOf(resource *api.Resource) demand.Values {
	return demand.Values{MilliCPU: resource.MilliCPU, Memory: resource.Memory, Scalars: resource.ScalarResources}
}

// RootTotals returns what the session publishes as deserved and guarantee of root: what the administrator
// wrote or else, as in upstream, the whole cluster and the sum of its children's guarantees. It returns
// nil if there is no root or no hierarchy.
func (s *Snapshot) RootTotals() (deserved, guarantee *api.Resource) {
	root, found := s.Queues[quota.Root]
	if !found || !s.Hierarchy {
		return nil, nil
	}
	if deserved = counted(root.Queue.Spec.Deserved); deserved.IsEmpty() {
		deserved = s.Total.Clone()
	}
	if guarantee = counted(root.Queue.Spec.Guarantee.Resource); !guarantee.IsEmpty() {
		return deserved, guarantee
	}
	for _, queue := range s.Queues {
		if quota.Parent(queue.Name, queue.Queue.Spec.Parent) == quota.Root {
			guarantee.Add(counted(queue.Queue.Spec.Guarantee.Resource))
		}
	}
	return deserved, guarantee
}
