package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// onAllocate charges a pod that was given a node in this session, for good (allocate) or
// in hope (pipeline).
func (p *plugin) onAllocate(event *framework.Event) {
	task := event.Task
	queue, found := p.queueOf(task)
	if !found {
		return
	}
	for _, claim := range p.claimsOf(task) {
		p.chargeClaim(queue, holderOf(task), claim)
	}
}

// onDeallocate gives back what a pod was charged in this session. Devices that are
// allocated in the API server stay charged: they are not back before their claims say so,
// and a pod that is being evicted still runs.
func (p *plugin) onDeallocate(event *framework.Event) {
	task := event.Task
	for _, claim := range p.claimsOf(task) {
		key := demand.KeyOf(claim)
		if dra.HeldBy(task.Pod, claim) || !p.ledger.Holds(key, holderOf(task)) {
			continue
		}
		if err := p.ledger.Release(key, holderOf(task)); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim), "pod", klog.KObj(task.Pod))
		}
	}
}

func (p *plugin) queueOf(task *api.TaskInfo) (ledger.QueueID, bool) {
	job, found := p.session.Jobs[task.Job]
	if !found {
		return 0, false
	}
	return p.ledger.Queue(string(job.Queue))
}
