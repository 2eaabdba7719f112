package capacity

import (
	"errors"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// jobEnqueueable is Volcano's JobEnqueueableFn: is there room in the queue for what the job
// needs at least?
func (p *plugin) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	r, refused := p.checkJob(job)
	if !refused {
		return util.Permit
	}
	klog.V(3).InfoS("Job is not let into its queue", "job", klog.KRef(job.Namespace, job.Name), "reason", r.message)
	p.refusedJobs[job.UID] = r
	// The condition of pods that exist already is made from this.
	job.JobFitErrors = r.message
	return util.Reject
}

func (p *plugin) checkJob(job *api.JobInfo) (refusal, bool) {
	info, found := p.session.Queues[job.Queue]
	if !found {
		return refusal{reason: unschedulable, message: "Queue <" + string(job.Queue) + "> does not exist: create it or change the job's queue"}, true
	}
	queue, r, refused := p.checkQueue(info)
	if refused {
		return r, true
	}
	n, err := p.needs(job)
	if err != nil && (p.limitsDevices(queue) || errors.As(err, &cardsError{})) {
		return uncountable(err), true
	}
	if n.cards {
		if r, refused := p.checkCardLimits(queue); refused {
			return r, true
		}
	}
	amounts := n.amounts
	if p.settings.unlimitedCards && n.devices {
		amounts = p.withoutBasics(amounts)
	}
	shortage, err := p.ledger.FitsInqueue(queue, amounts)
	for i := 0; i < len(n.choices) && shortage == nil && err == nil; i++ {
		shortage, err = p.split(queue, amounts, n.choices[i])
	}
	if shortage == nil && err == nil {
		_, shortage, err = p.ledger.FitsInqueueSplit(queue, amounts, n.splits)
	}
	if err != nil {
		return uncountable(err), true
	}
	if shortage != nil {
		return p.short(queue, shortage), true
	}
	return refusal{}, false
}

// needs is what a job that has not been let in needs at least. The error says why its devices
// are not included.
func (p *plugin) needs(job *api.JobInfo) (needs, error) {
	n, err := p.neededDevices(job, p.devicesOf(job))
	n.amounts = plus(p.minimum(job, nil), n.amounts)
	return n, err
}

// split is nil when the alternatives of a choice have room, all of them together, for all pods that
// choose. That is exact where they are of different classes, as they mostly are, and nobody else
// chooses among the same; else it may let in a job of which pods have to wait.
func (p *plugin) split(queue ledger.QueueID, needs ledger.Amounts, choice demand.Choice) (*ledger.Refusal, error) {
	left := choice.Pods
	last := len(choice.Alternatives) - 1
	for _, alternative := range choice.Alternatives[:last] {
		room, err := p.ledger.RoomInqueue(queue, needs, alternative, left)
		if err != nil {
			return nil, err
		}
		left -= room
	}
	return p.ledger.FitsInqueueTimes(queue, needs, choice.Alternatives[last], left)
}

// limitsDevices reports whether the queue or one above it limits devices at all.
func (p *plugin) limitsDevices(queue ledger.QueueID) bool {
	return p.ledger.Limits(queue, ledger.DeviceCount) || p.ledger.ListsCards(queue)
}

// jobEnqueued is Volcano's JobEnqueuedFn: all plugins agreed to let the job in.
func (p *plugin) jobEnqueued(obj any) {
	job := obj.(*api.JobInfo)
	queue, found := p.ledger.Queue(string(job.Queue))
	if !found {
		return
	}
	var gated ledger.Amounts
	for _, task := range job.Tasks {
		if task.SchGated {
			gated = plus(gated, p.lookAt(task).resources.Amounts)
		}
	}
	n, err := p.needs(job)
	if err != nil {
		klog.V(3).InfoS("Job is let in without its devices being counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
	}
	p.post(job, queue, ledger.Inqueue, n.amounts.Beyond(gated, nil))
	p.postSplits(job, queue, n.splits)
}
