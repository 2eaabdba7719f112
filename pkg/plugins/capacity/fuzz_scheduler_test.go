// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// fuzzScheduler is Volcano's cache without its goroutines and clients. A run calls its handlers, and binds pods itself.
type fuzzScheduler struct {
	*schedulercache.SchedulerCache
	cluster    *fuzzCluster
	preBinders map[string]schedulercache.PreBinder

	mu sync.Mutex
	// groups are the PodGroups whose status a session has changed.
	groups []*upstreamv1beta1.PodGroup
	// nominated has the nominated nodes of a session, by the UID of the pod.
	nominated map[types.UID]string
	// evictions is the number of evictions started. Each sends its pod to evicted.
	evictions int
	evicted   chan *corev1.Pod
}

var _ schedulercache.Cache = &fuzzScheduler{}

func newFuzzScheduler(c *fuzzCluster) *fuzzScheduler {
	s := &fuzzScheduler{cluster: c, preBinders: map[string]schedulercache.PreBinder{}, evicted: make(chan *corev1.Pod, 1000)}
	s.SchedulerCache = &schedulercache.SchedulerCache{
		Jobs: map[api.JobID]*api.JobInfo{}, Nodes: map[string]*api.NodeInfo{}, Queues: map[api.QueueID]*api.QueueInfo{},
		PriorityClasses: map[string]*schedulingv1.PriorityClass{}, NamespaceCollection: map[string]*api.NamespaceCollection{},
		CSINodesStatus: map[string]*api.CSINodeStatusInfo{}, InUseNodesInShard: sets.Set[string]{},
		HyperNodesInfo: api.NewHyperNodesInfo(c.informers.Core().V1().Nodes().Lister()), DeletedJobs: noJobs{},
		BindFlowChannel: make(chan *schedulercache.BindContext, 1000), Recorder: &record.FakeRecorder{},
		Binder: util.NewFakeBinder(0), Evictor: fuzzWriter{s: s}, StatusUpdater: fuzzWriter{s: s},
	}
	return s
}

// noJobs is a queue of jobs to delete that is never read.
type noJobs struct {
	workqueue.TypedRateLimitingInterface[string]
}

// Add implements the queue.
func (noJobs) Add(string) {}

// Client implements Cache.
func (s *fuzzScheduler) Client() kubernetes.Interface { return s.cluster.kube }

// VCClient implements Cache.
func (s *fuzzScheduler) VCClient() vcclient.Interface { return s.cluster.volcano }

// SharedInformerFactory implements Cache.
func (s *fuzzScheduler) SharedInformerFactory() informers.SharedInformerFactory {
	return s.cluster.informers
}

// SharedDRAManager implements Cache.
func (s *fuzzScheduler) SharedDRAManager() k8sframework.SharedDRAManager { return nil }

// RegisterBinder implements Cache.
func (s *fuzzScheduler) RegisterBinder(name string, binder any) {
	if b, ok := binder.(schedulercache.PreBinder); ok {
		s.preBinders[name] = b
	}
}

// podChanged notifies Volcano's cache of a pod, as its informer does. It ignores pods for another scheduler. before is nil
// for a new pod, and after is nil for a deleted pod.
func (s *fuzzScheduler) podChanged(before, after *corev1.Pod) {
	switch {
	case seesPod(before) && seesPod(after):
		s.UpdatePod(before, after)
	case seesPod(before):
		s.DeletePod(before)
	case seesPod(after):
		s.AddPod(after)
	}
}

// seesPod reports whether Volcano's cache has a pod.
func seesPod(pod *corev1.Pod) bool {
	return pod != nil && (pod.Spec.SchedulerName == "volcano" || pod.Spec.NodeName != "")
}

// OnSessionOpen implements Cache. It deletes jobs that have nothing left, as Volcano does in the background.
func (s *fuzzScheduler) OnSessionOpen() {
	for id, job := range s.Jobs {
		if api.JobTerminated(job) {
			delete(s.Jobs, id)
		}
	}
}

// Evict implements Cache.
func (s *fuzzScheduler) Evict(task *api.TaskInfo, reason string) error {
	err := s.SchedulerCache.Evict(task, reason)
	if err == nil {
		s.evictions++
	}
	return err
}

// fuzzWriter receives the writes of a session to the API server.
type fuzzWriter struct {
	*util.FakeStatusUpdater
	s *fuzzScheduler
}

// Evict implements Evictor. Volcano's cache calls it in a goroutine.
func (w fuzzWriter) Evict(pod *corev1.Pod, _ string) error {
	w.s.evicted <- pod
	return nil
}

// UpdatePodGroup implements StatusUpdater.
func (w fuzzWriter) UpdatePodGroup(group *api.PodGroup) (*api.PodGroup, error) {
	written := &upstreamv1beta1.PodGroup{}
	if err := schedulingscheme.Scheme.Convert(&group.PodGroup, written, nil); err != nil {
		return nil, err
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.groups = append(w.s.groups, written)
	return group, nil
}

// UpdatePodStatus implements StatusUpdater. Only the nominated node counts.
func (w fuzzWriter) UpdatePodStatus(pod *corev1.Pod) (*corev1.Pod, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.s.nominated == nil {
		w.s.nominated = map[types.UID]string{}
	}
	w.s.nominated[pod.UID] = pod.Status.NominatedNodeName
	return pod, nil
}

// settle applies the writes of a session to the API server.
func (s *fuzzScheduler) settle() {
	c := s.cluster
	slices.SortStableFunc(s.groups, func(a, b *upstreamv1beta1.PodGroup) int { return strings.Compare(a.Name, b.Name) }) // written side by side
	for _, written := range s.groups {
		if group, exists := c.groups.get(written.Name); exists && group.UID == written.UID {
			changed := group.DeepCopy()
			changed.Status = written.Status
			c.putGroup(changed)
			if changed.Status.Phase != group.Status.Phase { // Volcano also writes what has not changed, from time to time
				c.note("  PodGroup %s is %s", group.Name, changed.Status.Phase)
			}
		}
	}
	s.groups = nil
	s.nominate()
	for ; s.evictions > 0; s.evictions-- {
		evicted := <-s.evicted
		if pod, exists := c.pods.get(evicted.Name); exists && pod.UID == evicted.UID {
			c.note("  evicted pod %s", pod.Name)
			c.terminate(pod)
		}
	}
}

// nominate writes the nominated nodes of pods. Some are lost.
func (s *fuzzScheduler) nominate() {
	c := s.cluster
	for _, pod := range slices.Clone(c.pods) {
		node, written := s.nominated[pod.UID]
		if !written || node == pod.Status.NominatedNodeName || c.oneIn(8) {
			continue
		}
		changed := pod.DeepCopy()
		changed.Status.NominatedNodeName = node
		c.putPod(changed)
		c.note("  pod %s: nominated node %s", pod.Name, node)
	}
	s.nominated = nil
}

// decided returns the pods that a session has decided to bind. Volcano lists those of a job in any order.
func (s *fuzzScheduler) decided() []*schedulercache.BindContext {
	var all []*schedulercache.BindContext
	for len(s.BindFlowChannel) > 0 {
		all = append(all, <-s.BindFlowChannel)
	}
	slices.SortFunc(all, func(a, b *schedulercache.BindContext) int { return strings.Compare(a.TaskInfo.Name, b.TaskInfo.Name) })
	return all
}

// bind binds a pod as Volcano's cache does. It reports whether the pod is bound.
func (s *fuzzScheduler) bind(decided *schedulercache.BindContext, fails bool) bool {
	c, task := s.cluster, decided.TaskInfo
	err := s.preBind(decided)
	pod, exists := c.pods.get(task.Name)
	switch {
	case err != nil:
		c.note("  pod %s is not bound: %v", task.Name, err)
	case fails || !exists || pod.UID != task.Pod.UID || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil:
		c.note("  pod %s is not bound: the API server refuses", task.Name)
		for _, b := range s.preBinders {
			b.PreBindRollBack(context.Background(), decided)
		}
	default:
		bound := pod.DeepCopy()
		bound.Spec.NodeName = task.NodeName
		maps.Copy(bound.Annotations, task.Pod.Annotations) // as a binding does
		c.putPod(bound)
		c.note("  pod %s is bound to %s", task.Name, task.NodeName)
		return true
	}
	s.resync(task)
	c.checkUnbound(task.Pod)
	return false
}

// preBind prepares a binding as pkg/scheduler does.
func (s *fuzzScheduler) preBind(decided *schedulercache.BindContext) error {
	names := slices.Sorted(maps.Keys(s.preBinders))
	for i, name := range names {
		if err := s.preBinders[name].PreBind(context.Background(), decided); err != nil {
			for _, prepared := range slices.Backward(names[:i]) {
				s.preBinders[prepared].PreBindRollBack(context.Background(), decided)
			}
			return err
		}
	}
	return nil
}

// resync updates the cache with a pod from the API server. Volcano also writes a condition.
func (s *fuzzScheduler) resync(task *api.TaskInfo) {
	s.DeletePod(task.Pod)
	delete(s.cluster.cards, task.Pod.UID)
	if pod, exists := s.cluster.pods.get(task.Name); exists && pod.UID == task.Pod.UID {
		s.AddPod(pod.DeepCopy())
		s.cluster.putPod(pod.DeepCopy())
	}
}
