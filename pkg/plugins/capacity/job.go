package capacity

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// minimum appends to a list, which may be nil, what a job needs at least to run, of resources.
func (p *plugin) minimum(job *api.JobInfo, list ledger.Amounts) ledger.Amounts {
	if job.PodGroup.Spec.MinResources == nil {
		return list
	}
	return p.process.resources.list(*job.PodGroup.Spec.MinResources, list)
}

// devices is what a job's pods, as far as they exist, have and want of devices.
type devices struct {
	// needed is what nobody has been charged for yet of what the job needs at least.
	needed ledger.Amounts
	// elastic is what the job has beyond what it needs at least.
	elastic ledger.Amounts
	// request is all that the job has and wants.
	request ledger.Amounts
}

// devicesOf takes as many pods as the job needs at least for its minimum, those that have
// something first, then the older ones.
func (p *plugin) devicesOf(job *api.JobInfo) devices {
	tasks, hasClaims := make([]*api.TaskInfo, 0, len(job.Tasks)), false
	for _, task := range job.Tasks {
		hasClaims = hasClaims || p.lookAt(task).hasClaims
		if api.AllocatedStatus(task.Status) || task.Status == api.Pending {
			tasks = append(tasks, task)
		}
	}
	if !hasClaims {
		return devices{}
	}
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), olderFirst(a, b))
	})
	var d devices
	seen := map[*ledger.Part]bool{}
	for i, task := range tasks {
		for _, claim := range p.lookAt(task).claims {
			if seen[claim.Part] {
				continue
			}
			seen[claim.Part] = true
			d.request = plus(d.request, claim.Part.Amounts)
			charged, least := p.ledger.Charged(claim.Part), i < int(job.PodGroup.Spec.MinMember)
			switch {
			case least && !charged && !task.SchGated:
				d.needed = plus(d.needed, claim.Part.Amounts)
			case !least && charged:
				d.elastic = plus(d.elastic, claim.Part.Amounts)
			}
		}
	}
	return d
}

// rank sorts pods that have a node before those that wait for one.
func rank(task *api.TaskInfo) int {
	if api.AllocatedStatus(task.Status) {
		return 0
	}
	return 1
}
