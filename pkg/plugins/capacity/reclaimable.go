// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/reclaim"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// reclaimable is Volcano's ReclaimableFn: which pods of a node can be evicted, so that the reclaimer gets what its
// queue deserves? The reclaimer asks for neither devices nor cards that count, because prePredicate refuses others while
// upstream's action runs. The victims may hold some.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.solves != nil && p.solves.Asked() {
		return reclaimees, util.Permit
	}
	pod, err := p.snapshot.PodOf(reclaimer)
	if err != nil {
		klog.V(3).InfoS("Pod cannot reclaim", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "reason", err.Error())
		return nil, util.Reject
	}
	decision := p.reclaimer(pod.Queue, pod)
	var tasks []*api.TaskInfo
	var candidates []reclaim.Candidate
	for _, task := range reclaimees {
		if candidate, err := p.snapshot.PodOf(task); err == nil && candidate.Queue != pod.Queue {
			tasks = append(tasks, task)
			candidates = append(candidates, reclaim.Candidate{Pod: candidate, Holder: snapshot.HolderOf(task)})
		}
	}
	var victims []*api.TaskInfo
	for _, i := range decision.Victims(candidates, p.snapshot.WantedOnNode(reclaimer), p.snapshot.Resources.Pods) {
		victims = append(victims, tasks[i])
	}
	klog.V(4).InfoS("Victims for a pod", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "candidates", len(reclaimees), "victims", len(victims))
	return victims, util.Permit
}
