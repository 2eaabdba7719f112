// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// arrival is the time that controllers may take to create the pods of a job and the claims of a pod.
	arrival = 5 * time.Second
	// departure is the time that the binding of a pod may take.
	departure = time.Second
)

// UpdateJobStatus writes what became of a job, as Volcano's cache does, unless it is over in a moment: most pods would cost twice as many requests. Info says
// that the cache must learn in which HyperNode the job is. No later session would tell it.
func (p *pods) UpdateJobStatus(job *api.JobInfo, status, annotations, info bool) (*api.JobInfo, error) {
	now := time.Now()
	switch {
	case info:
	case arrives(job, now):
		return job, nil
	case p.bindings.begun(job, now.Add(-departure)):
		p.letIn.note(job)
		return job, nil
	}
	group := job.PodGroup
	if p.spent.Has(group.UID, group.ResourceVersion) {
		status, annotations = false, false // what is said of its pods does not depend on the PodGroup
	}
	updated, err := p.SchedulerCache.UpdateJobStatus(job, status, annotations, info)
	p.spent.Note(group.UID, group.ResourceVersion, job.PodGroup.ResourceVersion, err)
	return updated, err
}

// arrives reports whether controllers are still creating pods of a job, or their claims. Nothing of the job has a node then. A job without pods does not
// arrive: controllers such as that of Volcano Jobs create them only after they have read that it is let in.
func arrives(job *api.JobInfo, now time.Time) bool {
	if len(job.TaskStatusIndex[api.Pending]) < len(job.Tasks) {
		return false
	}
	young, lacks := false, len(job.Tasks) < int(job.MinAvailable)
	for _, task := range job.Tasks {
		young = young || now.Sub(task.Pod.CreationTimestamp.Time) < arrival
		lacks = lacks || !dra.ClaimsNamed(task.Pod)
	}
	return young && lacks
}

// begun reports whether all pods of a job are being bound, since a certain time and for the first time. If others run already, what became of them is written:
// a job that gets a pod in each session would never be.
func (b *bindings) begun(job *api.JobInfo, after time.Time) bool {
	bound := job.TaskStatusIndex[api.Binding]
	if len(bound) == 0 || len(bound) < len(job.Tasks) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, task := range bound {
		if known := b.tasks[task.Pod.UID]; known.since.Before(after) || failedBefore(task.Pod) { // also one that is not known
			return false
		}
	}
	return true
}

// failedBefore reports whether the last binding of a pod failed. It may fail in each session, and nothing would ever be written.
func failedBefore(pod *corev1.Pod) bool {
	_, scheduled := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
	return scheduled != nil && scheduled.Reason == api.PodReasonSchedulerError
}

// letIn has the jobs that were let in without a word to the API server, because their pods were being bound, each with the version of its PodGroup. They would
// ask for room in their queue again, in addition to what their pods have.
type letIn struct {
	mu   sync.Mutex
	jobs map[api.JobID]string
}

func (l *letIn) note(job *api.JobInfo) {
	if job.PodGroup.Status.Phase != scheduling.PodGroupInqueue {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs[job.UID] = job.PodGroup.ResourceVersion
}

// restore lets the jobs of a snapshot in, unless their PodGroups have changed.
func (l *letIn) restore(jobs map[api.JobID]*api.JobInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.jobs, func(id api.JobID, version string) bool {
		job := jobs[id]
		if job == nil || !job.IsPending() || job.PodGroup.ResourceVersion != version {
			return true
		}
		job.PodGroup.Status.Phase = scheduling.PodGroupInqueue
		return false
	})
}

// unwritten corrects what a session believes to be written: that jobs were let in is written at its end, unless their pods are still being bound. A job whose
// pods were not bound after all would keep its room otherwise, and its PodGroup would not say so.
func (l *letIn) unwritten(written *api.PodGroupOldState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.jobs {
		status := written.Status[id]
		status.Phase = scheduling.PodGroupPending
		written.Status[id] = status
	}
}
