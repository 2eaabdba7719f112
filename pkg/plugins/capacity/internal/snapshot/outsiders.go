// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

const (
	// byQueue is an index of PodGroups and of Volcano Jobs.
	byQueue = "devicequota/queue"
	// byJob is an index of PodGroups by the namespace and name of the Job that owns them.
	byJob = "devicequota/job"
	// byPodGroup is an index of pods by namespace and name of their PodGroup. The name is empty if they have none.
	byPodGroup = "devicequota/podgroup"
)

// Outsiders finds what waits although no session has it. Upstream leaves out PodGroups whose queue does not exist with their pods, and pods
// and Volcano Jobs that have no PodGroup. The informers keep the indices. A session reads the names of queues in the indices, and what
// is in missing queues.
type Outsiders struct {
	groups, jobs, pods toolscache.Indexer
	// missing has the queues that the last session lacked. A queue created together with its PodGroups may be read after
	// them. So it counts as missing only from the second session on.
	missing map[string]bool
	// WithoutQueue is the last result of FindWithoutQueue.
	WithoutQueue []report.Outsider
}

// NewOutsiders adds indices to informers of PodGroups, Volcano Jobs, and pods. The informers must not have started.
func NewOutsiders(groups, jobs, pods toolscache.SharedIndexInformer) (*Outsiders, error) {
	err := errors.Join(
		groups.AddIndexers(toolscache.Indexers{byQueue: queueOfGroup, byJob: jobOfGroup}),
		jobs.AddIndexers(toolscache.Indexers{byQueue: queueOfJob}),
		pods.AddIndexers(toolscache.Indexers{byPodGroup: podGroupOf}),
	)
	if err != nil {
		return nil, err
	}
	return &Outsiders{groups: groups.GetIndexer(), jobs: jobs.GetIndexer(), pods: pods.GetIndexer()}, nil
}

// queueOfGroup returns the queue of a PodGroup. A PodGroup without a queue is in the default queue of the scheduler.
func queueOfGroup(obj any) ([]string, error) {
	group, ok := obj.(*schedulingv1beta1.PodGroup)
	if !ok || group.Spec.Queue == "" {
		return nil, nil
	}
	return []string{group.Spec.Queue}, nil
}

// queueOfJob returns the queue of a Volcano Job that has not ended. Volcano's controllers take an empty name for that of a queue.
func queueOfJob(obj any) ([]string, error) {
	job, ok := obj.(*batchv1alpha1.Job)
	if !ok || ended(job) {
		return nil, nil
	}
	return []string{job.Spec.Queue}, nil
}

// ended reports whether a Volcano Job has ended, or is being ended.
func ended(job *batchv1alpha1.Job) bool {
	switch job.Status.State.Phase {
	case "", batchv1alpha1.Pending, batchv1alpha1.Running, batchv1alpha1.Restarting:
		return job.DeletionTimestamp != nil
	default:
		return true
	}
}

// jobOfGroup returns the Job that a PodGroup was made for, of Volcano or of Kubernetes.
func jobOfGroup(obj any) ([]string, error) {
	group, ok := obj.(*schedulingv1beta1.PodGroup)
	if !ok {
		return nil, nil
	}
	owner := metav1.GetControllerOf(group)
	if owner == nil || owner.Kind != "Job" {
		return nil, nil
	}
	return []string{group.Namespace + "/" + owner.Name}, nil
}

// podGroupOf returns the PodGroup of a pod of this scheduler. It reads nothing else: upstream changes pods of the informers, for example
// their node, and the fields behind an index must not change unnoticed.
func podGroupOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !forThisScheduler(pod.Spec.SchedulerName) {
		return nil, nil
	}
	return []string{pod.Namespace + "/" + pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]}, nil
}

// PodGroup returns a PodGroup, whether or not its queue exists. It is nil if there is no PodGroup of this name, or o is nil.
func (o *Outsiders) PodGroup(namespace, name string) *schedulingv1beta1.PodGroup {
	if o == nil {
		return nil
	}
	obj, _, err := o.groups.GetByKey(namespace + "/" + name)
	if err != nil {
		klog.ErrorS(err, "Failed to read a PodGroup", "podGroup", klog.KRef(namespace, name))
	}
	group, _ := obj.(*schedulingv1beta1.PodGroup)
	return group
}

// PodGroupOfJob returns the PodGroup of a Job, whether or not its queue exists. It is nil if there is none, or o is nil.
func (o *Outsiders) PodGroupOfJob(namespace, name string) *schedulingv1beta1.PodGroup {
	if o == nil {
		return nil
	}
	for _, obj := range indexed(o.groups, byJob, namespace+"/"+name) {
		return obj.(*schedulingv1beta1.PodGroup)
	}
	return nil
}

// lacksGroup reports whether a Volcano Job has no PodGroup.
func (o *Outsiders) lacksGroup(job *batchv1alpha1.Job) bool {
	return !slices.ContainsFunc(indexed(o.groups, byJob, job.Namespace+"/"+job.Name), func(group any) bool {
		return metav1.IsControlledBy(group.(*schedulingv1beta1.PodGroup), job)
	})
}

// FindWithoutQueue returns the PodGroups, and the Volcano Jobs without a PodGroup, whose queue the session lacks. The last session must have
// lacked it, too.
func (o *Outsiders) FindWithoutQueue(queues map[api.QueueID]*api.QueueInfo) []report.Outsider {
	var found []report.Outsider
	missing := map[string]bool{}
	for _, queue := range slices.Concat(o.groups.ListIndexFuncValues(byQueue), o.jobs.ListIndexFuncValues(byQueue)) {
		if _, exists := queues[api.QueueID(queue)]; exists || missing[queue] {
			continue
		}
		missing[queue] = true
		if !o.missing[queue] {
			continue
		}
		for _, obj := range indexed(o.groups, byQueue, queue) {
			group := obj.(*schedulingv1beta1.PodGroup)
			found = append(found, report.Outsider{Group: group, Pods: o.waitingPods(group.Namespace, group.Name)})
		}
		for _, obj := range indexed(o.jobs, byQueue, queue) {
			if job := obj.(*batchv1alpha1.Job); o.lacksGroup(job) {
				found = append(found, report.Outsider{Job: job})
			}
		}
	}
	o.missing, o.WithoutQueue = missing, found
	return found
}

// FindWithoutGroup returns the Volcano Jobs without a PodGroup whose queue the session has, and the pods that wait without a PodGroup.
// It reads each Job that has not ended, and each name in the index of pods.
func (o *Outsiders) FindWithoutGroup(queues map[api.QueueID]*api.QueueInfo) []report.Outsider {
	var found []report.Outsider
	for _, queue := range o.jobs.ListIndexFuncValues(byQueue) {
		if queues[api.QueueID(queue)] == nil {
			continue
		}
		for _, obj := range indexed(o.jobs, byQueue, queue) {
			if job := obj.(*batchv1alpha1.Job); o.lacksGroup(job) {
				found = append(found, report.Outsider{Job: job})
			}
		}
	}
	for _, group := range o.pods.ListIndexFuncValues(byPodGroup) {
		namespace, name, _ := strings.Cut(group, "/")
		if o.PodGroup(namespace, name) != nil {
			continue
		}
		for _, pod := range o.waitingPods(namespace, name) {
			found = append(found, report.Outsider{Pods: []*corev1.Pod{pod}})
		}
	}
	return found
}

// waitingPods returns the pods of a PodGroup that wait for a node.
func (o *Outsiders) waitingPods(namespace, group string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, obj := range indexed(o.pods, byPodGroup, namespace+"/"+group) {
		if pod, ok := obj.(*corev1.Pod); ok && WaitsForNode(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// WaitsForNode reports whether a pod waits for this scheduler. Pods with scheduling gates wait for something else. The node name
// does not count: upstream writes the node that it tries into the informer's copy of the pod, and leaves it there when it gives up.
func WaitsForNode(pod *corev1.Pod) bool {
	_, condition := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
	bound := condition != nil && condition.Status == corev1.ConditionTrue
	return !bound && pod.Status.Phase == corev1.PodPending && len(pod.Spec.SchedulingGates) == 0 && pod.DeletionTimestamp == nil &&
		forThisScheduler(pod.Spec.SchedulerName)
}

// WaitsOutside reports whether a pod waits for this scheduler although no job of the session has it, because its PodGroup or its queue is gone. A pod that
// is being bound does not wait.
func (s *Snapshot) WaitsOutside(pod *corev1.Pod) bool {
	return WaitsForNode(pod) && !s.belongs(pod) && !s.strays.isBinding(pod.UID)
}

func forThisScheduler(name string) bool {
	return options.ServerOpts != nil && slices.Contains(options.ServerOpts.SchedulerNames, name)
}

func indexed(indexer toolscache.Indexer, name, value string) []any {
	all, err := indexer.ByIndex(name, value)
	if err != nil {
		klog.ErrorS(err, "Failed to read an index", "index", name)
	}
	return all
}
