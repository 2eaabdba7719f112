// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"fmt"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
	"github.com/devicequota/devicequota/pkg/refusals"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// errNotUsed answers questions to a scheduler whose configuration lacks this plugin.
var errNotUsed = errors.New("the scheduler's configuration does not have the plugin " + Name)

// Answer answers the questions that wait, with the checks that decide and on the ledger of a session. The actions of the session have
// run, and the session has not been closed: then plugins are not there any more that must be asked.
func (p *Plugins) Answer(ssn *framework.Session) {
	for _, question := range p.cache.publisher.Questions() {
		opened := p.cache.opened
		if opened == nil || opened.session != ssn {
			question.Answer(nil, errNotUsed)
			continue
		}
		question.Answer(opened.answer(question))
	}
}

// answer answers a question. Whatever plugins do when they are asked, the scheduler goes on.
func (p *plugin) answer(q *visibility.Question) (explanation *v1alpha1.Explanation, err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.ErrorS(nil, "A question could not be answered", "kind", q.Kind, "object", klog.KRef(q.Namespace, q.Name), "panic", r, "stack", string(debug.Stack()))
			explanation, err = nil, fmt.Errorf("the scheduler failed to explain %s %s/%s, its log says why", q.Kind, q.Namespace, q.Name)
		}
	}()
	switch q.Kind {
	case "Pod":
		explanation, err = p.explainPod(q)
	case "PodGroup":
		explanation, err = p.explainWorkload(q, p.session.Jobs[api.JobID(q.Namespace+"/"+q.Name)])
	case "Job":
		explanation, err = p.explainWorkload(q, p.jobOfOwner(q))
	default:
		err = fmt.Errorf("%s: ask about a Pod, a PodGroup, or a Job of Volcano", q.Kind)
	}
	if explanation != nil {
		explanation.Snapshot = p.sessionInfo()
	}
	return explanation, err
}

// jobOfOwner returns the job that was made for a Job of Volcano, nil if the session has none.
func (p *plugin) jobOfOwner(q *visibility.Question) *api.JobInfo {
	for _, job := range p.session.Jobs {
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
func (p *plugin) explainPod(q *visibility.Question) (*v1alpha1.Explanation, error) {
	for _, job := range p.session.Jobs {
		if job.Namespace != q.Namespace {
			continue
		}
		for _, task := range job.Tasks {
			if task.Name == q.Name {
				return p.explainTask(job, task), nil
			}
		}
	}
	pod, err := p.pods.Pods(q.Namespace).Get(q.Name)
	if apierrors.IsNotFound(err) {
		return nil, visibility.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return p.explainOutsider(pod), nil
}

// explainWorkload explains a PodGroup. The job is nil if the session lacks it.
func (p *plugin) explainWorkload(q *visibility.Question, job *api.JobInfo) (*v1alpha1.Explanation, error) {
	if job != nil && job.PodGroup != nil {
		told := p.explainJob(job)
		told.Subject = subjectOf(q, &job.PodGroup.ObjectMeta)
		return told, nil
	}
	group := p.strandedGroup(q)
	if group == nil && q.Kind == "Job" {
		return p.explainVolcanoJob(q)
	}
	if group == nil {
		return nil, visibility.ErrNotFound
	}
	missing := refusals.QueueMissing{Queue: group.Spec.Queue}
	return &v1alpha1.Explanation{
		Subject: subjectOf(q, &group.ObjectMeta), Queue: group.Spec.Queue, State: v1alpha1.Waiting, Cause: describe.Refusal(missing),
		Checks: []v1alpha1.Check{{Name: explain.QueueCheck, Result: v1alpha1.Failed, Message: missing.Message()}},
	}, nil
}

// explainVolcanoJob explains a Job of Volcano without a PodGroup.
func (p *plugin) explainVolcanoJob(q *visibility.Question) (*v1alpha1.Explanation, error) {
	if p.cache.jobs == nil {
		return nil, visibility.ErrNotFound
	}
	job, err := p.cache.jobs.Jobs(q.Namespace).Get(q.Name)
	if apierrors.IsNotFound(err) {
		return nil, visibility.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return explain.VolcanoJob(job), nil
}

// subjectOf is what was asked about: a PodGroup, or the Job that it was made for.
func subjectOf(q *visibility.Question, group *metav1.ObjectMeta) v1alpha1.Object {
	if owner := describe.Owner(group); owner != nil && q.Kind == owner.Kind {
		return *owner
	}
	return describe.Object("PodGroup", group)
}

// strandedGroup returns the PodGroup that was asked about if its queue does not exist, nil otherwise.
func (p *plugin) strandedGroup(q *visibility.Question) *schedulingv1beta1.PodGroup {
	if p.cache.stranded == nil {
		return nil
	}
	for _, obj := range p.cache.stranded.groups.List() {
		group, is := obj.(*schedulingv1beta1.PodGroup)
		if !is || group.Namespace != q.Namespace || p.session.Queues[api.QueueID(group.Spec.Queue)] != nil {
			continue
		}
		owner := metav1.GetControllerOf(group)
		if q.Kind == "PodGroup" && group.Name == q.Name || q.Kind == "Job" && owner != nil && owner.Kind == "Job" && owner.Name == q.Name {
			return group
		}
	}
	return nil
}
