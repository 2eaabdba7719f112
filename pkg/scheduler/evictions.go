// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// evictions has the pods between the decision to evict them and their end. If a pod changes before the API server reports its deletion, Volcano's
// cache takes it for a pod that keeps running. Sessions would then evict other pods, beyond the limits of PodDisruptionBudgets.
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
	e.tasks[task.Pod.UID] = task.Clone() // the session goes on with the original
}

// failed removes a pod that is not evicted.
func (e *evictions) failed(pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tasks, pod.UID)
}

// restore corrects a snapshot: pods that are being evicted are releasing. Current returns a pod as it is now, or nil if it is gone or has ended.
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

// leave marks a pod in a job and on a node of a snapshot as releasing.
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
