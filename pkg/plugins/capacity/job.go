package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// minimum appends to a list, which may be nil, what a job needs at least to run, of resources.
func (p *plugin) minimum(job *api.JobInfo, list ledger.Amounts) ledger.Amounts {
	if job.PodGroup.Spec.MinResources == nil {
		return list
	}
	return p.process.resources.list(*job.PodGroup.Spec.MinResources, list)
}

// held is what a job's pods, as far as they exist, have and want of devices.
type held struct {
	// needed is what nobody has been charged for yet of what the job needs at least.
	needed ledger.Amounts
	// elastic is what the job has beyond what it needs at least.
	elastic ledger.Amounts
	// charged is what the job's pods have.
	charged ledger.Amounts
	// request is all that the job has and wants.
	request ledger.Amounts
}

// devicesOf takes as many pods as the job needs at least for its minimum, those that have
// something first, then the older ones.
func (p *plugin) devicesOf(job *api.JobInfo) held {
	tasks, hasClaims := make([]*api.TaskInfo, 0, len(job.Tasks)), false
	for _, task := range job.Tasks {
		hasClaims = hasClaims || p.lookAt(task).hasClaims
		if api.AllocatedStatus(task.Status) || task.Status == api.Pending {
			tasks = append(tasks, task)
		}
	}
	if !hasClaims {
		return held{}
	}
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), olderFirst(a, b))
	})
	var h held
	seen := map[*ledger.Part]bool{}
	for i, task := range tasks {
		for _, claim := range p.lookAt(task).claims {
			if seen[claim.Part] {
				continue
			}
			seen[claim.Part] = true
			h.request = plus(h.request, claim.Part.Amounts)
			charged, least := p.ledger.Charged(claim.Part), i < int(job.PodGroup.Spec.MinMember)
			if charged {
				h.charged = plus(h.charged, claim.Part.Amounts)
			}
			switch {
			case least && !charged && !task.SchGated:
				h.needed = plus(h.needed, claim.Part.Amounts)
			case !least && charged:
				h.elastic = plus(h.elastic, claim.Part.Amounts)
			}
		}
	}
	return h
}

// rank sorts pods that have a node before those that wait for one.
func rank(task *api.TaskInfo) int {
	if api.AllocatedStatus(task.Status) {
		return 0
	}
	return 1
}

// neededDevices is what a job that has what h says needs at least of devices in addition: by its
// pods if there are enough of them, else by the templates that they will be made from. The
// error says why it cannot be told.
func (p *plugin) neededDevices(job *api.JobInfo, h held) (ledger.Amounts, []demand.Choice, error) {
	if p.source.devices == nil || len(job.Tasks) >= int(job.PodGroup.Spec.MinMember) {
		return h.needed, nil, nil
	}
	object, err := p.volcanoJob(job)
	if object == nil || err != nil {
		return h.needed, nil, err
	}
	minimum, err := demand.OfJob(object, p.source, p.process.claims, p.priorityOf)
	if err != nil {
		return nil, nil, err
	}
	needed := minimum.Amounts.Beyond(h.charged, nil)
	for _, claim := range minimum.Named {
		if !p.ledger.Charged(claim.Part) {
			needed = plus(needed, claim.Part.Amounts)
		}
	}
	return needed, minimum.Choices, nil
}

// volcanoJob returns the Job that a PodGroup was made for; nil when it was made for something
// else.
func (p *plugin) volcanoJob(job *api.JobInfo) (*batchv1alpha1.Job, error) {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	if owner == nil || owner.Kind != "Job" || !strings.HasPrefix(owner.APIVersion, batchv1alpha1.GroupName+"/") || p.process.jobs == nil {
		return nil, nil
	}
	object, err := p.process.jobs.Jobs(job.Namespace).Get(owner.Name)
	if err != nil || object.UID != owner.UID {
		return nil, fmt.Errorf("its Job %s/%s has not been read from the API server yet; if this lasts, check that the scheduler may list and watch jobs.batch.volcano.sh", job.Namespace, owner.Name)
	}
	return object, nil
}

// priorityOf is the value of a PriorityClass; zero when there is none.
func (p *plugin) priorityOf(class string) int32 {
	if class == "" {
		return 0
	}
	object, err := p.session.InformerFactory().Scheduling().V1().PriorityClasses().Lister().Get(class)
	if err != nil {
		return 0
	}
	return object.Value
}
