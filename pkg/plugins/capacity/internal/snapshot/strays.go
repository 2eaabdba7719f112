// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// strays has the running pods that may belong to no job of a session. Their PodGroup or queue was deleted, or another
// scheduler placed them. Nothing else charges what they hold. Handlers of the pod informer add pods that have got a
// node. Sessions add pods whose job is gone, and remove pods that they find in a job.
type strays struct {
	mu   sync.Mutex
	pods map[types.UID]*stray
	// binding has the nodes of pods that are being bound. Their PodGroup may be deleted before the API server reports their node.
	binding map[types.UID]string
	// listed says that the pods that existed at the start have been added.
	listed bool
}

// stray is a pod that may belong to no job.
type stray struct {
	pod *corev1.Pod
	// task is Volcano's view of the pod. It is nil until a session needs it.
	task *api.TaskInfo
	// last has the queue that paid last, and its ancestors. It is nil if no session of this process knew the queue.
	last []string
	// charged is the ledger that was charged last. A pod that changes while it is charged is not charged again.
	charged *ledger.Ledger
}

// WatchPods starts to watch for pods that belong to no job.
func (c *Cache) WatchPods(pods coreinformers.PodInformer) {
	_, err := pods.Informer().AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.strays.add(object.(*corev1.Pod), nil) },
		UpdateFunc: func(before, after any) { c.strays.update(before.(*corev1.Pod), after.(*corev1.Pod)) },
		DeleteFunc: func(object any) { c.strays.deleted(object) },
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch pods, pods that belong to no job are not charged")
	}
}

// Binding notes that a pod is being bound to a node. The pod is charged even if it belongs to no job when it is bound.
func (c *Cache) Binding(pod types.UID, node string) { c.strays.setBinding(pod, node) }

// NotBinding notes that a pod could not be bound.
func (c *Cache) NotBinding(pod types.UID) { c.strays.unsetBinding(pod) }

// list adds, once, the pods that existed at the start.
func (ss *strays) list(pods corelisters.PodLister) {
	if ss.listed {
		return
	}
	all, err := pods.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list pods")
		return
	}
	ss.listed = true
	for _, pod := range all {
		ss.add(pod, nil)
	}
}

// add adds a pod if it has a node. last may be nil. It returns false if the pod need not be added.
func (ss *strays) add(pod *corev1.Pod, last []string) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.addLocked(pod, last)
}

func (ss *strays) addLocked(pod *corev1.Pod, last []string) bool {
	if !runs(pod) && ss.binding[pod.UID] == "" || foreign(pod) && !mayHoldDevices(pod) {
		return false
	}
	if ss.pods == nil {
		ss.pods = map[types.UID]*stray{}
	}
	known := ss.pods[pod.UID]
	if known != nil && last != nil {
		known.last = last
	}
	if known == nil {
		ss.pods[pod.UID] = &stray{pod: pod, last: last}
	}
	return known == nil
}

// update follows a pod. A pod that has had a node for some time and is not among the strays belongs to a job. When that
// changes, the session adds it.
func (ss *strays) update(before, after *corev1.Pod) {
	ss.mu.Lock() // held throughout: every session must find the pod as being bound or as bound
	defer ss.mu.Unlock()
	switch {
	case isOver(after):
		ss.removeLocked(after.UID)
	case runs(after) && (!runs(before) || before.UID != after.UID):
		delete(ss.binding, after.UID)
		ss.addLocked(after, nil)
	}
	if known := ss.pods[after.UID]; known != nil {
		ss.pods[after.UID] = &stray{pod: after, last: known.last, charged: known.charged}
	}
}

func (ss *strays) deleted(object any) {
	if pod, ok := readiness.LastState(object).(*corev1.Pod); ok {
		ss.remove(pod.UID)
	}
}

func (ss *strays) remove(pod types.UID) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.removeLocked(pod)
}

func (ss *strays) removeLocked(pod types.UID) {
	delete(ss.pods, pod)
	delete(ss.binding, pod)
}

// setBinding notes that a pod is being bound to a node.
func (ss *strays) setBinding(pod types.UID, node string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.binding == nil {
		ss.binding = map[types.UID]string{}
	}
	ss.binding[pod] = node
}

// unsetBinding notes that a pod is no longer being bound.
func (ss *strays) unsetBinding(pod types.UID) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.binding, pod)
}

func (ss *strays) isBinding(pod types.UID) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.binding[pod] != ""
}

func (ss *strays) anyBinding() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.binding) > 0
}

// of returns the strays that a ledger is not charged for yet. It drops the pods that belong to a job, and those that do not remain. A
// session reads a pod before it adds it, and in between, the handlers may have seen the pod go.
func (ss *strays) of(books *ledger.Ledger, belongs, remains func(*corev1.Pod) bool) []*stray {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	var left []*stray
	for uid, known := range ss.pods {
		if known.charged == books {
			continue
		}
		node := ss.binding[uid]
		if belongs(known.pod) || !runs(known.pod) && node == "" {
			delete(ss.pods, uid)
			continue
		}
		if !remains(known.pod) {
			ss.removeLocked(uid)
			continue
		}
		known.charged = books
		if known.task == nil {
			known.task = api.NewTaskInfo(known.pod)
		}
		if !runs(known.pod) {
			known.task.Status, known.task.NodeName = api.Binding, node
		}
		left = append(left, known)
	}
	return left
}

// runs reports whether a pod has a node and has not ended.
func runs(pod *corev1.Pod) bool { return dra.Bound(pod) && !isOver(pod) }

func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// chargeStrays charges what strays hold to the queues that they came from.
func (s *Snapshot) chargeStrays() {
	s.strays.list(s.Pods)
	for _, stray := range s.strays.of(s.Ledger, s.belongs, s.remains) {
		s.chargeStray(stray)
	}
	if !s.findNewStrays() {
		return
	}
	for _, stray := range s.strays.of(s.Ledger, s.belongs, s.remains) {
		s.chargeStray(stray)
	}
}

// findNewStrays adds the running pods of the last session that no job has any more. It reports whether there are any.
func (s *Snapshot) findNewStrays() bool {
	found := false
	for pod := range s.Unasked {
		now, err := s.Pods.Pods(pod.Object.Namespace).Get(pod.Object.Name)
		if err == nil && now.UID == pod.Object.UID && !s.belongs(now) {
			found = s.strays.add(now, s.lastPath(pod)) || found
		}
	}
	return found
}

// misplace notes that the ledger lacks the queue of a pod's job. If the pod runs, it is a stray.
func (s *Snapshot) misplace(pod *demand.Pod) {
	last := s.lastPath(pod)
	pod.Charge(pod.Queue, false)
	s.strays.add(pod.Object, last)
}

// lastPath returns the queue of a pod in the last session, and its ancestors. It is nil if the pod had none.
func (s *Snapshot) lastPath(pod *demand.Pod) []string {
	if !pod.InLedger || s.before == nil {
		return nil
	}
	return s.before.Path(pod.Queue)
}

// belongs reports whether a pod belongs to a job of the session whose queue is in the ledger.
func (s *Snapshot) belongs(pod *corev1.Pod) bool {
	if pod.Annotations[groupName] == "" {
		return false
	}
	job := s.Jobs[api.JobID(pod.Namespace+"/"+pod.Annotations[groupName])]
	if job == nil || job.Tasks[api.TaskID(pod.UID)] == nil {
		return false
	}
	_, found := s.Ledger.Queue(string(job.Queue))
	return found
}

// chargeStray charges a stray to the queue that it came from. Foreign pods pay only for devices and cards. No queue accounts for the cpu
// and memory of the system and its DaemonSets: the nodes have less for all queues.
func (s *Snapshot) chargeStray(stray *stray) {
	queue, attributed := s.queueOf(stray.pod, stray.last)
	if !attributed {
		s.unattributedPods = append(s.unattributedPods, stray.pod)
	}
	task := stray.task
	s.strayTasks = append(s.strayTasks, task)
	pod := s.refresh(task)
	pod.Charge(queue, false)
	if pod.HasClaims {
		c := newConsumer(task, pod)
		c.unattributed = !attributed
		s.consumers = append(s.consumers, c)
	}
	if pod.Cards != nil {
		s.assignCards(pod, task)
	}
	if foreign(stray.pod) {
		if pod.Cards != nil && (api.AllocatedStatus(task.Status) || s.endsLate(task)) {
			s.charge(queue, task, ledger.Demand{&pod.Cards.Part})
		}
		return
	}
	u := usage{queue: queue}
	s.chargePod(&u, pod, task)
	if err := s.Ledger.Add(queue, ledger.Request, u.request); err != nil {
		klog.ErrorS(err, "Failed to account a pod that belongs to no job", "pod", klog.KObj(stray.pod))
	}
}
