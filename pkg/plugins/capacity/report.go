package capacity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reasons of the events on pods and PodGroups that wait.
const (
	insufficientCPUQuota    = "InsufficientCPUQuota"
	insufficientMemoryQuota = "InsufficientMemoryQuota"
	insufficientScalarQuota = "InsufficientScalarQuota"
	emptyQueueCapability    = "EmptyQueueCapability"
	insufficientDevices     = "InsufficientDevices"
	taskRequestFailed       = "GetTaskRequestResourceFailed"
	unschedulable           = string(scheduling.PodGroupUnschedulableType)
)

// refusal is why a pod or a job was refused.
type refusal struct {
	// reason is the reason of the event; empty when the pod's condition says enough.
	reason  string
	message string
}

// short is the refusal of what a queue, or one above it, has no room for.
func (p *plugin) short(queue ledger.QueueID, r *ledger.Refusal) refusal {
	reason := insufficientScalarQuota
	switch {
	case r.Dimension == ledger.Dimension{Kind: ledger.Resource, Name: string(corev1.ResourceCPU)}:
		reason = insufficientCPUQuota
	case r.Dimension == ledger.Dimension{Kind: ledger.Resource, Name: string(corev1.ResourceMemory)}:
		reason = insufficientMemoryQuota
	case r.Dimension.Kind == ledger.Card && !p.hasCardQuota(queue):
		return refusal{reason: emptyQueueCapability, message: fmt.Sprintf("%s; the queue has no card quota: list the card in its annotation %s",
			r, schedulingv1beta1.CardQuotaAnnotation)}
	}
	return refusal{reason: reason, message: r.String()}
}

// hasCardQuota reports whether the queue or one above it carries a card quota.
func (p *plugin) hasCardQuota(queue ledger.QueueID) bool {
	return slices.ContainsFunc(p.ledger.Path(queue), func(name string) bool { return p.listing[name] })
}

// told is what an event on a pod said last.
type told struct {
	job     api.JobID
	message string
}

// report tells people why what was refused waits. An event is written when the message is
// another than the last one; the event recorder aggregates those that still are many.
func (p *plugin) report() {
	for known, a := range p.attempts {
		if _, already := p.refused[known]; already {
			continue
		}
		if a.refused.message != "" {
			p.refused[known] = a.refused
		} else if a.lacking && len(a.picks) == 0 && p.stillWaits(known.job, api.TaskID(known.object.UID)) {
			p.refused[known] = p.scarce(a)
		}
	}
	for known, r := range p.refused {
		p.reportPod(known, r)
	}
	for id, last := range p.process.toldPods {
		if !p.stillWaits(last.job, id) {
			delete(p.process.toldPods, id)
		}
	}
	p.reportJobs()
	p.reportProblems()
}

// stillWaits reports whether a pod has no node at the end of the session, or but the hope of one.
func (p *plugin) stillWaits(job api.JobID, id api.TaskID) bool {
	info, found := p.session.Jobs[job]
	return found && (info.TaskStatusIndex[api.Pending][id] != nil || info.TaskStatusIndex[api.Pipelined][id] != nil)
}

// reportPod makes the pod's PodScheduled condition say why it waits. Upstream makes that of
// NodesFitErrors; an AllocatableFn leaves nothing there by itself, and must not do so
// earlier: while a session runs, upstream skips all pods of the same task once one has an
// entry. What nodes said is less to the point than what the quota says.
func (p *plugin) reportPod(known *pod, r refusal) {
	id := api.TaskID(known.object.UID)
	if !p.stillWaits(known.job, id) {
		return
	}
	job := p.session.Jobs[known.job]
	job.NodesFitErrors[id] = api.NewFitErrors()
	job.NodesFitErrors[id].SetError(r.message)
	if r.reason != "" && p.process.toldPods[id].message != r.message {
		p.process.recorder.Event(known.object, corev1.EventTypeWarning, r.reason, r.message)
	}
	p.process.toldPods[id] = told{job: known.job, message: r.message}
}

// reportJobs writes events on the PodGroups of jobs that were not let in.
func (p *plugin) reportJobs() {
	for id, r := range p.refusedJobs {
		job, found := p.session.Jobs[id]
		if !found {
			continue
		}
		if r.reason != "" && p.process.toldJobs[id] != r.message {
			p.process.recorder.Event(podGroupReference(&job.PodGroup.PodGroup), corev1.EventTypeWarning, r.reason, r.message)
		}
		p.process.toldJobs[id] = r.message
	}
	for id := range p.process.toldJobs {
		if job, found := p.session.Jobs[id]; !found || !job.IsPending() {
			delete(p.process.toldJobs, id)
		}
	}
}

func podGroupReference(group *scheduling.PodGroup) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "PodGroup",
		Namespace: group.Namespace, Name: group.Name, UID: group.UID, ResourceVersion: group.ResourceVersion,
	}
}
