package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// postJob posts what a job wants, what it still needs to run, and what it has beyond that. It returns
// what it needs of cards that it may choose among, which are to be posted when all else is.
func (p *plugin) postJob(job *api.JobInfo, u usage) []ledger.Split {
	s := &p.process.lists
	s.minimum = p.minimum(job, s.minimum[:0])
	elastic := u.allocated.Beyond(s.minimum, s.elastic[:0])
	inqueue := s.inqueue[:0]
	if waits(job, u.running) {
		s.missing = s.minimum.Beyond(u.allocated, s.missing[:0])
		inqueue = s.missing.Beyond(u.gated, inqueue)
	}
	s.elastic, s.inqueue = elastic, inqueue
	var splits []ledger.Split
	if u.devices(job) {
		h := p.devicesOf(job)
		elastic = plus(elastic, h.elastic)
		u.request = plus(u.request, h.request)
		if waits(job, u.running) {
			needed, err := p.neededDevices(job, h)
			if err != nil {
				klog.V(3).InfoS("A job's devices are not counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
			}
			inqueue, splits = plus(inqueue, needed.amounts), needed.splits
		}
	}
	p.post(job, u.queue, ledger.Request, u.request)
	p.post(job, u.queue, ledger.Elastic, elastic)
	p.post(job, u.queue, ledger.Inqueue, inqueue)
	return splits
}

// postSplits posts what a job takes of cards that it may choose among, as if it got those that it
// prefers, as far as there is room. The rest of what it needs has been posted before.
func (p *plugin) postSplits(job *api.JobInfo, queue ledger.QueueID, splits []ledger.Split) {
	if len(splits) == 0 {
		return
	}
	divided, refusal, err := p.ledger.FitsInqueueSplit(queue, nil, splits)
	if refusal != nil || err != nil {
		// The quota was lowered since the job was let in.
		divided = nil
		for _, s := range splits {
			if all, err := ledger.Units(s.Each).Times(s.Shares); err == nil {
				divided = plus(divided, ledger.Amounts{{Dimension: s.Among[0], Amount: all}})
			}
		}
	}
	p.post(job, queue, ledger.Inqueue, divided)
}

func (p *plugin) post(job *api.JobInfo, queue ledger.QueueID, account ledger.Account, amounts ledger.Amounts) {
	if err := p.ledger.Post(queue, account, amounts); err != nil {
		klog.ErrorS(err, "Failed to count a job", "job", klog.KRef(job.Namespace, job.Name))
	}
}

// waits reports whether what a job has not got of its minimum is kept for it: it was let in,
// or it runs with enough pods. (A job whose driver has ended goes on with too few; nothing
// is kept for that one.)
func waits(job *api.JobInfo, running int) bool {
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return job.PodGroup.Spec.MinResources != nil && running >= int(job.PodGroup.Spec.MinMember)
	default:
		return false
	}
}
