// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// jobAsk is a job that asks to be admitted to its queue.
type jobAsk struct {
	job   *api.JobInfo
	queue ledger.QueueID
	// needs is what the job needs at least. Uncounted says why its devices are not included.
	needs     demand.Needs
	uncounted error
}

// jobCheck is one reason for which a queue may refuse a job.
type jobCheck struct {
	name string
	// refuse returns nil if the job passes.
	refuse func(*plugin, jobAsk) report.Refusal
}

// jobChecks are made in this order. The first refusal is the answer.
var jobChecks = []jobCheck{
	{"Sharers", (*plugin).checkJobSharers},
	{"DevicesReady", (*plugin).checkJobDevicesReady},
	{"Countable", (*plugin).checkJobCountable},
	{"CardsReady", (*plugin).checkJobCardsReady},
	{"DevicesListed", (*plugin).checkJobDevicesListed},
	{quotaCheck, (*plugin).checkJobQuota},
	{"ResourcesKnown", (*plugin).checkJobResourcesKnown},
}

// refuseJob says why a job is not admitted to its queue. It returns nil if the job is admitted.
func (p *plugin) refuseJob(job *api.JobInfo) report.Refusal {
	info, found := p.session.Queues[job.Queue]
	if !found {
		return refusals.QueueMissing{Queue: string(job.Queue)}
	}
	queue, refusal := p.snapshot.Queue(info)
	if refusal != nil {
		return refusal
	}
	ask := jobAsk{job: job, queue: queue}
	ask.needs, ask.uncounted = p.snapshot.Needs(job)
	p.snapshot.NoteNeeds(job, ask.needs)
	_, refusal = p.firstRefusal(ask)
	return refusal
}

// firstRefusal returns the name of the first check that refuses a job, and its refusal. The refusal is nil if none does.
func (p *plugin) firstRefusal(ask jobAsk) (name string, refusal report.Refusal) {
	for _, check := range jobChecks {
		if refusal := check.refuse(p, ask); refusal != nil {
			return check.name, refusal
		}
	}
	return "", nil
}

// checkJobSharers refuses a job that can never start, whether or not devices are limited: too many of its pods share a claim.
func (p *plugin) checkJobSharers(ask jobAsk) report.Refusal {
	if !ask.needs.Devices && ask.uncounted == nil {
		return nil
	}
	if err := p.snapshot.CheckSharers(ask.job); err != nil {
		return report.Unplaceable{Err: err}
	}
	return nil
}

// checkJobDevicesReady refuses devices, where they are limited, while it is not known which are in use, or what the quotas are. A job
// that is let in stays so.
func (p *plugin) checkJobDevicesReady(ask jobAsk) report.Refusal {
	if !ask.needs.Devices && ask.uncounted == nil {
		return nil
	}
	if notReady := p.snapshot.DeviceQuotaNotReady(ask.queue); notReady != nil {
		return notReady
	}
	unread := p.cache.quotas != nil && !p.cache.quotas.Synced()
	if p.devicesNotReady != nil && (unread || p.snapshot.LimitsDevices(ask.queue)) {
		return p.devicesNotReady
	}
	return nil
}

// checkJobCountable refuses a job whose devices cannot be counted where devices are limited, and a job that says
// something invalid of its cards.
func (p *plugin) checkJobCountable(ask jobAsk) report.Refusal {
	if ask.uncounted == nil || !p.snapshot.LimitsDevices(ask.queue) && !errors.As(ask.uncounted, new(demand.CardsError)) {
		return nil
	}
	return report.Uncountable{Err: ask.uncounted}
}

// checkJobResourcesKnown refuses a job that needs a resource which nobody offers.
func (p *plugin) checkJobResourcesKnown(ask jobAsk) report.Refusal {
	if ask.needs.Unknown.Resource == "" {
		return nil
	}
	return report.ResourceUnknown{UnknownResourceError: ask.needs.Unknown, Queue: p.snapshot.Top(ask.queue)}
}

// checkJobCardsReady refuses cards while it is not known which are in use, or what the quotas are.
func (p *plugin) checkJobCardsReady(ask jobAsk) report.Refusal {
	if !ask.needs.Cards {
		return nil
	}
	return p.refuseCards(ask.queue)
}

// checkJobDevicesListed refuses devices where no queue on the way to the root lists any class, if that is required.
func (p *plugin) checkJobDevicesListed(ask jobAsk) report.Refusal {
	return p.snapshot.RefuseUnlistedJob(ask.queue, ask.needs)
}

// checkJobQuota refuses a job whose minimum the queue or an ancestor has no room for.
func (p *plugin) checkJobQuota(ask jobAsk) report.Refusal {
	refused, err := p.snapshot.FitsInqueue(ask.queue, ask.needs)
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused != nil && !p.mayEnterByRight(ask):
		return p.snapshot.Refuse(ask.queue, refused)
	default:
		return nil
	}
}
