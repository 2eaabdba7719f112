// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/reclaim"
)

// preemptive is Volcano's PreemptiveFn: may the queue take back from other queues what the pod asks for? Upstream's action asks it
// before it calls prePredicate, so for jobs about which this plugin decides, too.
func (p *plugin) preemptive(obj, candidate any) bool {
	info, task := obj.(*api.QueueInfo), candidate.(*api.TaskInfo)
	if job := p.jobOf(task); p.evicting && job != nil && p.decides(job) {
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
