// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	podrequests "github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Needs returns the minimum of a job that is not admitted yet. The error says why its devices are not included, or that
// its resources cannot be counted.
func (s *Snapshot) Needs(job *api.JobInfo) (demand.Needs, error) {
	needs, err := s.jobNeeds(job, s.podsOf(job))
	if list := job.PodGroup.Spec.MinResources; list != nil {
		err = cmp.Or(podrequests.Check(*list), err)
	}
	var minimum ledger.Amounts
	minimum, needs.Unknown = s.minimum(job, nil)
	needs.Amounts = demand.Sum(minimum, needs.Amounts)
	return needs, err
}

// minimum appends the minimum resources of a job to a list, which may be nil. unknown is a resource that no node offers.
// Its name is empty if there is none.
func (s *Snapshot) minimum(job *api.JobInfo, list ledger.Amounts) (minimum ledger.Amounts, unknown demand.UnknownResourceError) {
	if job.PodGroup.Spec.MinResources == nil {
		return list, unknown
	}
	return s.Resources.Minimum(podrequests.Bounded(*job.PodGroup.Spec.MinResources), list)
}

// podsOf sums up the devices and cards of a job's pods. Pods with a node count toward the minimum of the job first, then older pods.
func (s *Snapshot) podsOf(job *api.JobInfo) demand.JobPods {
	asks, some := false, false
	for _, task := range job.Tasks {
		pod := s.refresh(task)
		asks, some = asks || pod.MayGetDevices() || pod.Cards != nil, some || pod.AsksForDevices()
	}
	if !asks {
		return demand.JobPods{}
	}
	sum, errs := demand.OfJobPods(s.Ledger, s.jobPods(job), int(job.PodGroup.Spec.MinMember))
	for _, err := range errs {
		klog.V(3).InfoS("The cards of a pod are not counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
	}
	sum.Any = some
	return sum
}

// jobPods lists the pods of a job that have a node or wait for one.
func (s *Snapshot) jobPods(job *api.JobInfo) []demand.JobPod {
	tasks := make([]*api.TaskInfo, 0, len(job.Tasks))
	for _, task := range job.Tasks {
		if api.AllocatedStatus(task.Status) || task.Status == api.Pending {
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), olderFirst(a, b))
	})
	if needed, others := taskMinimums(job, tasks); len(needed) > 0 {
		tasks = append(needed, others...)
	}
	pods := make([]demand.JobPod, len(tasks))
	for i, task := range tasks {
		pod := s.refresh(task)
		pods[i] = demand.JobPod{
			Pod: pod, Allocated: api.AllocatedStatus(task.Status), Gated: task.SchGated,
			Elsewhere: pod.InLedger && s.Ledger.Name(pod.Queue) != string(job.Queue),
		}
	}
	return pods
}

// CheckSharers returns an error if a job can never start because too many pods of its minimum share one claim.
// Kubernetes limits this number.
func (s *Snapshot) CheckSharers(job *api.JobInfo) error {
	if !s.ServesClaims {
		return nil
	}
	pods := s.jobPods(job)
	if least := int(job.PodGroup.Spec.MinMember); len(pods) >= least {
		return demand.CheckSharersOfPods(pods, least)
	}
	object, err := s.volcanoJob(job)
	if err != nil || object == nil {
		return nil // Needs reports the error
	}
	return demand.CheckSharersOfJob(object, s.Claims, pods)
}

// rank sorts pods that have a node before pods that wait for one.
func rank(task *api.TaskInfo) int {
	if api.AllocatedStatus(task.Status) {
		return 0
	}
	return 1
}

// jobNeeds returns the devices and cards that a job needs at least, in addition to what its pods have.
func (s *Snapshot) jobNeeds(job *api.JobInfo, pods demand.JobPods) (demand.Needs, error) {
	return s.JobNeeds(s.Ledger, demand.Group{
		MinMember:   int(job.PodGroup.Spec.MinMember),
		Pods:        len(job.Tasks),
		Annotations: job.PodGroup.Annotations,
		Job:         func() (*batchv1alpha1.Job, error) { return s.volcanoJob(job) },
		Priority:    s.priorityOf,
	}, pods, s.ServesClaims)
}

// volcanoJob returns the Volcano Job that a PodGroup was created for, nil if it has another owner.
func (s *Snapshot) volcanoJob(job *api.JobInfo) (*batchv1alpha1.Job, error) {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	if owner == nil || owner.Kind != "Job" || !strings.HasPrefix(owner.APIVersion, batchv1alpha1.GroupName+"/") || s.VolcanoJobs == nil {
		return nil, nil
	}
	object, err := s.VolcanoJobs.Jobs(job.Namespace).Get(owner.Name)
	if err != nil || object.UID != owner.UID {
		return nil, fmt.Errorf("its Job %s/%s has not been read from the API server yet; if this lasts, check that the scheduler may list and watch jobs.batch.volcano.sh", job.Namespace, owner.Name)
	}
	return object, nil
}

// OtherSchedulerOf returns why a job never starts if Volcano's controllers will make its pods, all of them for another scheduler.
func (s *Snapshot) OtherSchedulerOf(job *api.JobInfo) report.Refusal {
	if len(job.Tasks) > 0 {
		return nil
	}
	object, err := s.volcanoJob(job)
	if err != nil || object == nil {
		return nil // Needs reports the error
	}
	return s.OtherScheduler(object)
}

// OtherScheduler refuses a Volcano Job whose pods are all for another scheduler. It returns nil if some are for this one.
func (s *Snapshot) OtherScheduler(job *batchv1alpha1.Job) report.Refusal {
	name := ""
	for i := range job.Spec.Tasks {
		name = cmp.Or(job.Spec.Tasks[i].Template.Spec.SchedulerName, job.Spec.SchedulerName, corev1.DefaultSchedulerName)
		if options.ServerOpts == nil || forThisScheduler(name) {
			return nil
		}
	}
	if name == "" {
		return nil // without tasks, it makes no pods
	}
	return refusals.OtherScheduler{Subject: "job", Scheduler: name, Names: options.ServerOpts.SchedulerNames}
}

// NodeSelectors returns the nodeSelectors of the pods of a job: those that it has, or else those that Volcano's controllers will make.
func (s *Snapshot) NodeSelectors(job *api.JobInfo) iter.Seq[map[string]string] {
	return func(yield func(map[string]string) bool) {
		for _, task := range job.Tasks {
			if !yield(task.Pod.Spec.NodeSelector) {
				return
			}
		}
		if object, _ := s.volcanoJob(job); object != nil && len(job.Tasks) == 0 {
			for i := range object.Spec.Tasks {
				if !yield(object.Spec.Tasks[i].Template.Spec.NodeSelector) {
					return
				}
			}
		}
	}
}

// priorityOf returns the value of a PriorityClass, zero if it does not exist.
func (s *Snapshot) priorityOf(class string) int32 {
	if class == "" {
		return 0
	}
	object, err := s.PriorityClasses.Get(class)
	if err != nil {
		return 0
	}
	return object.Value
}
