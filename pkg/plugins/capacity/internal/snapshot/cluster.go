// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// countCluster counts what there is to share: what the nodes have or, for a resource that the capability
// of root lists, that capability. It may be more than the nodes have now, so that jobs are admitted for
// which an autoscaler adds nodes.
func (s *Snapshot) countCluster() {
	total := s.Total.Clone()
	if root, found := s.Queues[RootQueue]; found && s.Hierarchy {
		written := api.NewResource(quota.Resources(root.Queue.Spec.Capability))
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

func valuesOf(resource *api.Resource) demand.Values {
	return demand.Values{MilliCPU: resource.MilliCPU, Memory: resource.Memory, Scalars: resource.ScalarResources}
}

// RootTotals returns what the session publishes as deserved and guarantee of root: what the administrator
// wrote or else, as in upstream, the whole cluster and the sum of its children's guarantees. It returns
// nil if there is no root or no hierarchy.
func (s *Snapshot) RootTotals() (deserved, guarantee *api.Resource) {
	root, found := s.Queues[RootQueue]
	if !found || !s.Hierarchy {
		return nil, nil
	}
	if deserved = api.NewResource(quota.Resources(root.Queue.Spec.Deserved)); deserved.IsEmpty() {
		deserved = s.Total.Clone()
	}
	if guarantee = api.NewResource(quota.Resources(root.Queue.Spec.Guarantee.Resource)); !guarantee.IsEmpty() {
		return deserved, guarantee
	}
	for _, queue := range s.Queues {
		if queue.Name != RootQueue && parentOf(queue) == RootQueue {
			guarantee.Add(api.NewResource(quota.Resources(queue.Queue.Spec.Guarantee.Resource)))
		}
	}
	return deserved, guarantee
}
