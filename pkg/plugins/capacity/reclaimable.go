// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/reclaim"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// reclaimable is Volcano's ReclaimableFn: which pods of a node can be evicted, so that the reclaimer gets what its
// queue deserves?
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
	if len(reclaimees) > 0 && decision.CountsCards && !decision.CanCarry(pod.Cards.On(p.cards.Fleet.Node(reclaimees[0].NodeName))) {
		return nil, util.Reject
	}
	var tasks []*api.TaskInfo
	var candidates []reclaim.Candidate
	for _, task := range reclaimees {
		if candidate, err := p.snapshot.PodOf(task); err == nil {
			tasks = append(tasks, task)
			candidates = append(candidates, reclaim.Candidate{Pod: candidate, Holder: snapshot.HolderOf(task)})
		}
	}
	var victims []*api.TaskInfo
	var pods []*demand.Pod
	for _, i := range decision.Victims(candidates, p.snapshot.WantedOnNode(reclaimer, pod), p.snapshot.Resources.Pods) {
		victims, pods = append(victims, tasks[i]), append(pods, candidates[i].Pod)
	}
	if len(victims) > 0 {
		if err := p.checkReclaim(reclaimer, victims[0].NodeName, pods); err != nil {
			klog.V(3).InfoS("Pod cannot reclaim devices", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "reason", err.Error())
			return nil, util.Reject
		}
	}
	klog.V(4).InfoS("Victims for a pod", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "candidates", len(reclaimees), "victims", len(victims))
	return victims, util.Permit
}
