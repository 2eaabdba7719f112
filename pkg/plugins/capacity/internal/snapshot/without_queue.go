// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

const (
	// byQueue is an index of PodGroups, and byPodGroup is an index of pods.
	byQueue    = "devicequota/queue"
	byPodGroup = "devicequota/podgroup"
)

// WithoutQueue finds the PodGroups whose queue does not exist. Upstream leaves them and their pods out of each session, so plugins do not
// see them. The informers keep the indices. A session reads the queue names in the index of PodGroups, and the PodGroups of missing queues.
type WithoutQueue struct {
	groups, pods toolscache.Indexer
	// missing has the queues that the last session lacked. A queue created together with its PodGroups may be read after
	// them. So it counts as missing only from the second session on.
	missing map[string]bool
	// Found is the last result of Find.
	Found []report.WithoutQueue
}

// NewWithoutQueue adds indices to informers of PodGroups and pods. The informers must not have started.
func NewWithoutQueue(groups, pods toolscache.SharedIndexInformer) (*WithoutQueue, error) {
	if err := groups.AddIndexers(toolscache.Indexers{byQueue: queueOfGroup}); err != nil {
		return nil, err
	}
	if err := pods.AddIndexers(toolscache.Indexers{byPodGroup: podGroupOf}); err != nil {
		return nil, err
	}
	return &WithoutQueue{groups: groups.GetIndexer(), pods: pods.GetIndexer()}, nil
}

// queueOfGroup returns the queue of a PodGroup. A PodGroup without a queue is in the default queue of the scheduler.
func queueOfGroup(obj any) ([]string, error) {
	group, ok := obj.(*schedulingv1beta1.PodGroup)
	if !ok || group.Spec.Queue == "" {
		return nil, nil
	}
	return []string{group.Spec.Queue}, nil
}

// podGroupOf returns the PodGroup of a pod. It reads nothing else: upstream changes pods of the informers, for example
// their node, and the fields behind an index must not change unnoticed.
func podGroupOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	if group := pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]; group != "" {
		return []string{pod.Namespace + "/" + group}, nil
	}
	return nil, nil
}

// PodGroup returns a PodGroup, whether or not its queue exists. It is nil if there is no PodGroup of this name, or w is nil.
func (w *WithoutQueue) PodGroup(namespace, name string) *schedulingv1beta1.PodGroup {
	if w == nil {
		return nil
	}
	obj, _, err := w.groups.GetByKey(namespace + "/" + name)
	if err != nil {
		klog.ErrorS(err, "Failed to read a PodGroup", "podGroup", klog.KRef(namespace, name))
	}
	group, _ := obj.(*schedulingv1beta1.PodGroup)
	return group
}

// PodGroupOfJob returns the PodGroup of a Volcano Job if its queue is not among the given queues. It is nil if there is none.
func (w *WithoutQueue) PodGroupOfJob(namespace, name string, queues map[api.QueueID]*api.QueueInfo) *schedulingv1beta1.PodGroup {
	if w == nil {
		return nil
	}
	for _, obj := range w.groups.List() {
		group, is := obj.(*schedulingv1beta1.PodGroup)
		if !is || group.Namespace != namespace || queues[api.QueueID(group.Spec.Queue)] != nil {
			continue
		}
		if owner := metav1.GetControllerOf(group); owner != nil && owner.Kind == "Job" && owner.Name == name {
			return group
		}
	}
	return nil
}

// Find returns the PodGroups whose queue the session lacks. The last session must have lacked it, too.
func (w *WithoutQueue) Find(queues map[api.QueueID]*api.QueueInfo) []report.WithoutQueue {
	var found []report.WithoutQueue
	missing := map[string]bool{}
	for _, queue := range w.groups.ListIndexFuncValues(byQueue) {
		if _, exists := queues[api.QueueID(queue)]; exists {
			continue
		}
		missing[queue] = true
		if !w.missing[queue] {
			continue
		}
		for _, obj := range indexed(w.groups, byQueue, queue) {
			if group, ok := obj.(*schedulingv1beta1.PodGroup); ok {
				found = append(found, report.WithoutQueue{Group: group, Pods: w.waitingPods(group)})
			}
		}
	}
	w.missing, w.Found = missing, found
	return found
}

// waitingPods returns the pods of a PodGroup that wait for a node.
func (w *WithoutQueue) waitingPods(group *schedulingv1beta1.PodGroup) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, obj := range indexed(w.pods, byPodGroup, group.Namespace+"/"+group.Name) {
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
		options.ServerOpts != nil && slices.Contains(options.ServerOpts.SchedulerNames, pod.Spec.SchedulerName)
}

func indexed(indexer toolscache.Indexer, name, value string) []any {
	all, err := indexer.ByIndex(name, value)
	if err != nil {
		klog.ErrorS(err, "Failed to read an index", "index", name)
	}
	return all
}
