// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

// Reporter remembers past messages, and reports only news. It outlives sessions. It is not safe for concurrent use.
type Reporter struct {
	// Recorder writes events.
	Recorder record.EventRecorder
	// Usage writes the usage of queues. It is nil if usage is not written.
	Usage *queueusage.Writer
	// Status writes conditions. If it is nil, upstream writes the conditions of pods.
	Status *StatusWriter
	// Clock provides the transition times of conditions.
	Clock clock.PassiveClock

	// session is the current session. pods and jobs have its refusals. waiting has the reasons of jobs whose pods are refused.
	session types.UID
	pods    map[api.TaskID]podRefusal
	jobs    map[api.JobID]jobRefusal
	waiting map[api.JobID]podRefusal
	// notifiedPods, notifiedJobs, notifiedMissing, notifiedQueues, and notifiedNodes have the last messages. notifiedConflicts has the last conflicts.
	notifiedPods      map[api.TaskID]notifiedPod
	notifiedJobs      map[api.JobID]notified
	notifiedMissing   map[types.UID]string
	notifiedQueues    problems.Problems
	notifiedNodes     map[string]string
	notifiedConflicts map[string]bool
	// notifiedContested has the last message for each class whose extended resource another class offers.
	notifiedContested map[types.UID]string
	// notifiedUnattributed has the pods that have been notified that they are charged to root.
	notifiedUnattributed map[types.UID]bool
	// notifiedReclaimFault is the configuration fault in the log. notifiedReclaimIdle says that the log mentions that reclaim has nothing to do.
	notifiedReclaimFault problems.ReclaimFault
	notifiedReclaimIdle  bool
	// queues has the published metrics of each queue, for these dimensions.
	queues     map[string]*queueMetrics
	dimensions *ledger.Dimensions
	// cards has the published number of each card in the cluster.
	cards map[string]*big.Int
	// totals has the dimensions of the published metrics of the cluster.
	totals map[v1alpha1.Dimension]bool
	// waitingPods are the published values of the metric of waiting pods.
	waitingPods map[waitingKey]int
}

type podRefusal struct {
	task    *api.TaskInfo
	refusal Refusal
	message string
}

type jobRefusal struct {
	refusal Refusal
	message string
}

// notified is the last message, and when it was news.
type notified struct {
	message string
	at      time.Time
}

type notifiedPod struct {
	notified
	job api.JobID
}

// refreshAfter is how long a message stays although the usage of a queue in it has changed. Thousands of jobs may wait in a queue, and
// whatever starts or ends there changes the message of each. Volcano writes a condition that stays the same as often.
const refreshAfter = time.Minute

// latest returns the message to write now. It is the last one if only the usage of queues has changed since, and not long ago.
func (r *Reporter) latest(last notified, message string) string {
	if last.message != message && r.Clock.Since(last.at) < refreshAfter && ledger.SameButForUsage(last.message, message) {
		return last.message
	}
	return message
}

// note returns what to remember about a message that is written, and whether it is news.
func (r *Reporter) note(last notified, message string) (notified, bool) {
	if last.message == message {
		return last, false
	}
	return notified{message, r.Clock.Now()}, true
}

// NewReporter returns a reporter that writes events to a recorder.
func NewReporter(recorder record.EventRecorder) *Reporter {
	return &Reporter{
		Recorder: recorder, Clock: clock.RealClock{},
		notifiedPods: map[api.TaskID]notifiedPod{}, notifiedJobs: map[api.JobID]notified{}, notifiedNodes: map[string]string{},
		queues: map[string]*queueMetrics{}, cards: map[string]*big.Int{},
		pods: map[api.TaskID]podRefusal{}, jobs: map[api.JobID]jobRefusal{}, waiting: map[api.JobID]podRefusal{},
	}
}

// Begin begins a session. Call End at its end.
func (r *Reporter) Begin(session types.UID) {
	r.session = session
	clear(r.pods)
	clear(r.jobs)
	clear(r.waiting)
}

// RefusePod notes why a pod waits. Actions may ask several times in one session. The first answer counts, because the
// next session repeats it. The job is nil if the session lacks it.
func (r *Reporter) RefusePod(job *api.JobInfo, task *api.TaskInfo, refusal Refusal) {
	if _, refused := r.pods[task.UID]; refused {
		return
	}
	message := r.latest(r.notifiedPods[task.UID].notified, refusal.Message())
	klog.V(3).InfoS("Pod is refused", "pod", klog.KRef(task.Namespace, task.Name), "reason", message)
	r.pods[task.UID] = podRefusal{task: task, refusal: refusal, message: message}
	if job != nil && job.JobFitErrors == "" {
		job.JobFitErrors = message
	}
}

// Waits notes why a pipelined pod waits. It replaces what was noted before the pod was pipelined.
func (r *Reporter) Waits(job *api.JobInfo, task *api.TaskInfo, refusal Refusal) {
	delete(r.pods, task.UID)
	r.RefusePod(job, task, refusal)
}

// Refused reports whether a pod was refused in this session.
func (r *Reporter) Refused(id api.TaskID) bool {
	_, refused := r.pods[id]
	return refused
}

// WhyPod returns why a pod was refused in this session, nil if it was not.
func (r *Reporter) WhyPod(id api.TaskID) Refusal { return r.pods[id].refusal }

// WhyJob returns why a job was not admitted in this session, or why one of its pods waits. It is nil if neither is known. The pod is
// nil if the job was not admitted.
func (r *Reporter) WhyJob(id api.JobID) (Refusal, *api.TaskInfo) {
	if refused, found := r.jobs[id]; found {
		return refused.refusal, nil
	}
	waiting := r.waiting[id]
	return waiting.refusal, waiting.task
}

// RefuseJob notes why a job is not admitted to its queue.
func (r *Reporter) RefuseJob(job *api.JobInfo, refusal Refusal) {
	message := r.latest(r.notifiedJobs[job.UID], refusal.Message())
	klog.V(3).InfoS("Job is not admitted to its queue", "job", klog.KRef(job.Namespace, job.Name), "reason", message)
	r.jobs[job.UID] = jobRefusal{refusal, message}
	// Volcano uses this for the condition of the existing pods.
	job.JobFitErrors = message
}

// Waits reports whether a pod has no node, or is pipelined to a node, at the end of a session.
func Waits(jobs map[api.JobID]*api.JobInfo, job api.JobID, id api.TaskID) bool {
	info, found := jobs[job]
	return found && (info.TaskStatusIndex[api.Pending][id] != nil || info.TaskStatusIndex[api.Pipelined][id] != nil)
}

// Refusals writes the refusals of the session to events and conditions. It must run before the session writes the
// status of pods and PodGroups.
func (r *Reporter) Refusals(jobs map[api.JobID]*api.JobInfo) {
	for id, refused := range r.pods {
		r.reportPod(jobs, id, refused)
	}
	for id, last := range r.notifiedPods {
		if !Waits(jobs, last.job, id) {
			delete(r.notifiedPods, id)
		}
	}
	for id := range r.notifiedJobs {
		if job, found := jobs[id]; !found || !job.IsPending() {
			delete(r.notifiedJobs, id)
		}
	}
	for id, job := range jobs {
		if refused, found := r.jobs[id]; found {
			r.reportJob(job, refused)
		} else if refused, waits := r.waiting[id]; waits {
			r.explainJob(job, refused)
		} else if job.PodGroup != nil {
			clearWaiting(&job.PodGroup.Status)
		}
	}
	for id, refused := range r.pods {
		// Upstream writes what needs no event, unless it is over in a moment.
		if refused.refusal.Reason() != "" && Waits(jobs, refused.task.Job, id) {
			r.explainPod(jobs[refused.task.Job], id, refused.message)
		}
	}
	r.countWaiting(jobs)
}

// reportPod writes the reason why a pod waits into its PodScheduled condition. Upstream builds the condition from
// NodesFitErrors, but an AllocatableFn does not write to it. The entry must not be added earlier: while a session runs,
// upstream skips all pods of a task with an entry. The refusal replaces the messages of nodes, because it is more specific.
func (r *Reporter) reportPod(jobs map[api.JobID]*api.JobInfo, id api.TaskID, refused podRefusal) {
	job := jobs[refused.task.Job]
	if !Waits(jobs, refused.task.Job, id) {
		if job != nil && job.JobFitErrors == refused.message {
			job.JobFitErrors = "" // the pod got a node after all
		}
		return
	}
	job.NodesFitErrors[id] = api.NewFitErrors()
	job.NodesFitErrors[id].SetError(refused.message)
	r.tellPod(refused)
	r.refuses(job, refused)
}

// tellPod writes an event on a pod, unless its last message was the same.
func (r *Reporter) tellPod(refused podRefusal) {
	id := refused.task.UID
	said, news := r.note(r.notifiedPods[id].notified, refused.message)
	if reason := refused.refusal.Reason(); reason != "" && news {
		r.Recorder.Event(refused.task.Pod, corev1.EventTypeWarning, reason, refused.message)
	}
	r.notifiedPods[id] = notifiedPod{said, refused.task.Job}
}

// reportJob writes an event on the PodGroup of a job that is not admitted and on each of its pods. It also sets the conditions.
func (r *Reporter) reportJob(job *api.JobInfo, refused jobRefusal) {
	refusal, message := refused.refusal, refused.message
	said, news := r.note(r.notifiedJobs[job.UID], message)
	if reason := refusal.Reason(); reason != "" && news {
		r.Recorder.Event(podGroupReference(&job.PodGroup.ObjectMeta), corev1.EventTypeWarning, reason, message)
	}
	r.notifiedJobs[job.UID] = said
	r.setWaiting(&job.PodGroup.Status, refusal, message)
	for id, task := range job.TaskStatusIndex[api.Pending] {
		if task.SchGated {
			continue // the pod first waits for something else
		}
		r.tellPod(podRefusal{task: task, refusal: refusal, message: message})
		r.explainPod(job, id, message)
	}
}

func podGroupReference(group *metav1.ObjectMeta) *corev1.ObjectReference {
	return reference(schedulingv1beta1.SchemeGroupVersion, "PodGroup", group)
}

// reference refers to an object of an informer, which lacks its kind.
func reference(version schema.GroupVersion, kind string, object *metav1.ObjectMeta) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: version.String(), Kind: kind, Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
}
