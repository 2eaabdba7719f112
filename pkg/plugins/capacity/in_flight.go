package capacity

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// clearInFlight forgets allocations that were begun in this session and that nobody will
// finish. Upstream reserves devices when a pod is given a node and lets go of them when
// that is undone, but a gang that is only pipelined is neither bound nor undone: its claims
// then stay "in the process of being allocated", and their devices unusable, until the
// scheduler restarts (volcano issue 5044, pull requests 5103 and 5884). Pods that are being
// bound have a status of their own by now; every other allocation in flight is stale.
func (p *plugin) clearInFlight() {
	if p.source.manager == nil {
		return
	}
	claims := p.source.manager.ResourceClaims()
	binding := map[types.UID]bool{}
	for _, c := range p.consumers {
		if c.task.Status == api.Binding {
			for _, claim := range c.pod.claims {
				binding[claim.Object.UID] = true
			}
		}
	}
	for _, c := range p.consumers {
		switch c.task.Status {
		case api.Pending, api.Pipelined, api.Allocated:
		default:
			continue
		}
		for _, claim := range c.pod.claims {
			if uid := claim.Object.UID; !binding[uid] && claims.RemoveClaimPendingAllocation(uid) {
				klog.V(4).InfoS("Cleared a stale allocation in flight", "claim", klog.KObj(claim.Object), "pod", klog.KObj(c.task.Pod))
			}
		}
	}
}
