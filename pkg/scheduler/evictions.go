// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// evictions has the pods that are being evicted, from the decision until they are gone. Volcano's cache takes them for pods that run on if they
// change before the API server says that they are being deleted. Sessions would evict others in their place, past what PodDisruptionBudgets allow.
type evictions struct {
	mu    sync.Mutex
	tasks map[types.UID]*api.TaskInfo
}

// Evict implements schedulercache.Cache.
func (p *pods) Evict(task *api.TaskInfo, reason string) error {
	p.evictions.begin(task)
	err := p.SchedulerCache.Evict(task, reason)
	if err != nil {
		p.evictions.failed(task.Pod)
	}
	return err
}

func (e *evictions) begin(task *api.TaskInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tasks == nil {
		e.tasks = map[types.UID]*api.TaskInfo{}
	}
	e.tasks[task.Pod.UID] = task.Clone() // the session goes on with the other
}

// failed notes that a pod is not evicted.
func (e *evictions) failed(pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tasks, pod.UID)
}

// restore corrects a snapshot: pods that are being evicted are leaving. Current returns a pod as it is now, nil if it is gone or has ended.
func (e *evictions) restore(snapshot *api.ClusterInfo, current func(*corev1.Pod) *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid, kept := range e.tasks {
		pod := current(kept.Pod)
		if pod == nil {
			delete(e.tasks, uid)
			continue
		}
		for _, id := range []api.JobID{kept.Job, api.NewTaskInfo(pod).Job} { // its user may have moved it
			if job := snapshot.Jobs[id]; job != nil && job.Tasks[kept.UID] != nil {
				leave(job, job.Tasks[kept.UID], snapshot.Nodes[kept.NodeName])
			}
		}
	}
}

// leave notes in a job and a node of a snapshot that a pod is leaving.
func leave(job *api.JobInfo, task *api.TaskInfo, node *api.NodeInfo) {
	if !api.PreemptableStatus(task.Status) {
		return
	}
	if err := job.UpdateTaskStatus(task, api.Releasing); err != nil {
		klog.ErrorS(err, "Failed to note that a pod is being evicted", "pod", klog.KObj(task.Pod))
	}
	if node == nil || node.Name != task.NodeName {
		return
	}
	if err := node.UpdateTask(task); err != nil {
		klog.ErrorS(err, "Failed to note that a pod is leaving its node", "pod", klog.KObj(task.Pod))
	}
}
