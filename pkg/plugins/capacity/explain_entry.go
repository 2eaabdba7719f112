// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
)

// explainEntry says whether others would be evicted for a job that has not been let into its queue. A job that may take room from others is
// let in, so that it is refused only if nobody may be evicted for it.
func (p *plugin) explainEntry(job *api.JobInfo) *v1alpha1.Eviction {
	info := p.session.Queues[job.Queue]
	if info == nil {
		return nil
	}
	queue, refusal := p.snapshot.Queue(info)
	if refusal != nil {
		return nil
	}
	ask := jobAsk{job: job, queue: queue}
	ask.needs, ask.uncounted = p.snapshot.Needs(job)
	switch check, _ := p.firstRefusal(ask); {
	case check == "":
		return p.explainLateEntry(job)
	case check != quotaCheck:
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it: the cause is nothing that others hold"}
	default:
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it: " + p.whyNoEntry(ask)}
	}
}

// explainLateEntry says who would be evicted for a job that only other plugins, or this session's order, have kept from being let in.
func (p *plugin) explainLateEntry(job *api.JobInfo) *v1alpha1.Eviction {
	if len(job.TaskStatusIndex[api.Pending]) == 0 {
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it before it is let in and its pods exist"}
	}
	told := p.explainRules(job)
	told.Message = "When it has been let in: " + told.Message
	return told
}

// whyNoEntry says why a job may not take the room that it lacks from others.
func (p *plugin) whyNoEntry(ask jobAsk) string {
	if !ask.needs.Any && !ask.needs.Cards {
		return "it asks for no devices and no limited cards, and waits until there is room for it"
	}
	refused, err := p.snapshot.FitsInqueue(ask.queue, ask.needs)
	if err != nil || refused == nil {
		return "what it needs cannot be counted"
	}
	if never := explain.NeverFits(refused); never != "" {
		return never
	}
	from, takes := p.takingsOf(ask)
	entry := explain.Entry{Snapshot: p.snapshot, Takings: from, Preempts: conf.EnabledActionMap[string(eviction.Preempt)]}
	if !takes {
		return entry.NoTakings()
	}
	no, _ := p.rightToEnter(ask, from)
	if no == nil {
		return "what it needs cannot be counted"
	}
	return entry.NoRight(no)
}
