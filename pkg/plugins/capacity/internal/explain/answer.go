// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/refusals"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// Session answers questions about one session, with the checks and the ledger of the session. It decides and changes nothing.
type Session struct {
	Volcano    *framework.Session
	Snapshot   *snapshot.Snapshot
	Checks     *checks.Session
	Placements *placement.Session
	Elastic    *elastic.Session
	Report     *report.Reporter
	Described  *describe.Session
	Pods       corelisters.PodLister
	// VolcanoJobs and Outsiders are nil if Volcano's objects are not read.
	VolcanoJobs batchlisters.JobLister
	Outsiders   *snapshot.Outsiders
}

// Answer answers a question. A panic of a plugin does not stop the scheduler.
func (s *Session) Answer(q *visibility.Question) (explanation *v1alpha1.Explanation, err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.ErrorS(nil, "A question could not be answered", "kind", q.Kind, "object", klog.KRef(q.Namespace, q.Name), "panic", r, "stack", string(debug.Stack()))
			explanation, err = nil, fmt.Errorf("the scheduler failed to explain %s %s/%s, its log says why", q.Kind, q.Namespace, q.Name)
		}
	}()
	switch q.Kind {
	case "Pod":
		explanation, err = s.explainPod(q)
	case "PodGroup":
		explanation, err = s.explainWorkload(q, s.Volcano.Jobs[api.JobID(q.Namespace+"/"+q.Name)])
	case "Job":
		explanation, err = s.explainWorkload(q, s.jobOfOwner(q))
	default:
		err = fmt.Errorf("%s: ask about a Pod, a PodGroup, or a Job of Volcano", q.Kind)
	}
	if explanation != nil {
		explanation.Snapshot = s.Described.Info()
	}
	return explanation, err
}

// jobOfOwner returns the job that was made for a Volcano Job, nil if the session has none.
func (s *Session) jobOfOwner(q *visibility.Question) *api.JobInfo {
	for _, job := range s.Volcano.Jobs {
		if job.Namespace != q.Namespace || job.PodGroup == nil {
			continue
		}
		if owner := metav1.GetControllerOf(&job.PodGroup.PodGroup); owner != nil && owner.Kind == "Job" && owner.Name == q.Name {
			return job
		}
	}
	return nil
}

// explainPod explains a pod of the API server, whether or not the session has it.
func (s *Session) explainPod(q *visibility.Question) (*v1alpha1.Explanation, error) {
	for _, job := range s.Volcano.Jobs {
		if job.Namespace != q.Namespace {
			continue
		}
		for _, task := range job.Tasks {
			if task.Name == q.Name {
				return s.explainTask(job, task), nil
			}
		}
	}
	pod, err := s.Pods.Pods(q.Namespace).Get(q.Name)
	if apierrors.IsNotFound(err) {
		return nil, visibility.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.explainOutsider(pod), nil
}

// explainWorkload explains a PodGroup. The job is nil if the session lacks it.
func (s *Session) explainWorkload(q *visibility.Question, job *api.JobInfo) (*v1alpha1.Explanation, error) {
	if job != nil && job.PodGroup != nil {
		told := s.explainJob(job)
		told.Subject = subjectOf(q, &job.PodGroup.ObjectMeta)
		return told, nil
	}
	group := s.groupWithoutQueue(q)
	if group == nil && q.Kind == "Job" {
		return s.explainVolcanoJob(q)
	}
	if group == nil {
		return nil, visibility.ErrNotFound
	}
	missing := refusals.QueueMissing{Queue: group.Spec.Queue}
	return &v1alpha1.Explanation{
		Subject: subjectOf(q, &group.ObjectMeta), Queue: group.Spec.Queue, State: v1alpha1.Waiting, Cause: describe.Refusal(missing),
		Checks: []v1alpha1.Check{{Name: QueueCheck, Result: v1alpha1.Failed, Message: missing.Message()}},
	}, nil
}

// explainVolcanoJob explains a Volcano Job without a PodGroup.
func (s *Session) explainVolcanoJob(q *visibility.Question) (*v1alpha1.Explanation, error) {
	if s.VolcanoJobs == nil {
		return nil, visibility.ErrNotFound
	}
	job, err := s.VolcanoJobs.Jobs(q.Namespace).Get(q.Name)
	if apierrors.IsNotFound(err) {
		return nil, visibility.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.withoutGroup(job), nil
}

// subjectOf returns the subject of a question: a PodGroup, or the Job that it was made for.
func subjectOf(q *visibility.Question, group *metav1.ObjectMeta) v1alpha1.Object {
	if owner := describe.Owner(group); owner != nil && q.Kind == owner.Kind {
		return *owner
	}
	return describe.Object("PodGroup", group)
}

// groupWithoutQueue returns the PodGroup in question if its queue does not exist. Otherwise, it returns nil.
func (s *Session) groupWithoutQueue(q *visibility.Question) *schedulingv1beta1.PodGroup {
	group := s.Outsiders.PodGroup(q.Namespace, q.Name)
	if q.Kind == "Job" {
		group = s.Outsiders.PodGroupOfJob(q.Namespace, q.Name)
	}
	if group == nil || s.Volcano.Queues[api.QueueID(group.Spec.Queue)] != nil {
		return nil
	}
	return group
}
