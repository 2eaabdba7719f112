// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/reclaim"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/problems"
)

// preemptive is Volcano's PreemptiveFn. It reports whether the queue may take back from other queues what the pod asks for.
// Upstream's action calls it before prePredicate, so also for jobs that this plugin decides about.
func (p *plugin) preemptive(obj, candidate any) bool {
	info, task := obj.(*api.QueueInfo), candidate.(*api.TaskInfo)
	if job := p.jobOf(task); p.searches != nil && job != nil && p.placements.EvictsTogether(job) {
		return false
	}
	queue, refusal := p.snapshot.Queue(info)
	pod := p.snapshot.Known(task.Pod)
	if refusal != nil || pod == nil || pod.Err != nil {
		klog.V(3).InfoS("Queue cannot reclaim", "queue", info.Name, "pod", klog.KRef(task.Namespace, task.Name), "refusal", refusal)
		return false
	}
	reclaimer := p.reclaimer(queue, pod)
	fits, may := reclaimer.May()
	metrics.UpdateQueueOverused(info.Name, !may)
	klog.V(3).InfoS("Queue asked whether it can reclaim", "queue", info.Name, "pod", klog.KRef(task.Namespace, task.Name), "fits", fits, "can", may)
	return may
}

func (p *plugin) reclaimer(queue ledger.QueueID, pod *demand.Pod) reclaim.Reclaimer {
	return reclaim.Reclaimer{Ledger: p.snapshot.Ledger, Pod: pod, Queue: queue}
}

// reclaimable is Volcano's ReclaimableFn. It returns the pods of a node that can be evicted to give the reclaimer what
// its queue deserves. The reclaimer asks for neither devices nor counted cards: prePredicate refuses other pods while
// upstream's action runs. The victims may hold some.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.elastic.Permits() {
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

// preemptable is Volcano's PreemptableFn. It permits victims for another pod of their queue if this plugin has chosen them.
// Otherwise, it abstains.
func (p *plugin) preemptable(_ *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.elastic.Permits() {
		return preemptees, util.Permit
	}
	return nil, util.Abstain
}

// logReclaim logs what keeps reclaim from working as the quotas require.
func (p *plugin) logReclaim() {
	fault := p.snapshot.ReclaimFault
	deserving, wronged := p.snapshot.Deserving()
	if !wronged {
		fault = problems.ReclaimFault{}
	}
	p.cache.report.LogReclaim(fault, !deserving && p.checks.QuotasRead && conf.EnabledActionMap[problems.ReclaimAction])
}
