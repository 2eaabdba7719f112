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

// countCluster counts the resources to share. For each resource in the capability of root, it is this capability, otherwise
// the capacity of the nodes. The capability may exceed the nodes: then jobs are admitted for which an autoscaler adds nodes.
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

// counted returns the resources that a queue lists. Volcano reads quantities that it cannot count as arbitrary amounts, even as none.
func counted(list corev1.ResourceList) *api.Resource {
	return api.NewResource(podrequests.Bounded(quota.Resources(list)))
}

func valuesOf(resource *api.Resource) demand.Values {
	return demand.Values{MilliCPU: resource.MilliCPU, Memory: resource.Memory, Scalars: resource.ScalarResources}
}

// RootTotals returns the deserved and guarantee of root that the session publishes. These are the administrator's values if set. Otherwise,
// as in upstream, they are the whole cluster and the sum of the children's guarantees. It returns nil without root or without hierarchy.
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
