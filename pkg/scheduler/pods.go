// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/demand/requests"
)

// pods is Volcano's cache with snapshots in which pods and nodes have all that pods request. Volcano counts containers only: without this,
// sessions would put any number of pods on a node that request cpu as a whole (KEP-2837).
type pods struct {
	*schedulercache.SchedulerCache
	// delivered says that there was a pod that requests more than its containers. Until then, no snapshot looks at each pod.
	delivered atomic.Bool
	// beside has what the pods of the last snapshot request besides their containers.
	beside map[*corev1.Pod]besides
	// bindings has the pods that are being bound, evictions those that are being evicted, and lister all pods.
	bindings  bindings
	evictions evictions
	lister    corelisters.PodLister
}

// besides is in Volcano's units.
type besides map[corev1.ResourceName]float64

// newPods must be called before the cache runs.
func newPods(cache *schedulercache.SchedulerCache) (*pods, error) {
	informer := cache.SharedInformerFactory().Core().V1().Pods()
	p := &pods{SchedulerCache: cache, lister: informer.Lister()}
	if err := informer.Informer().SetTransform(p.notice); err != nil {
		return nil, fmt.Errorf("notice what pods request as a whole: %w", err)
	}
	cache.RegisterBinder(preparedBy, &p.bindings)
	return p, nil
}

func (p *pods) notice(object any) (any, error) {
	if pod, known := object.(*corev1.Pod); known && requests.MoreThanContainers(pod) {
		p.delivered.Store(true)
	}
	return object, nil
}

// Snapshot must not be called concurrently.
func (p *pods) Snapshot() *api.ClusterInfo {
	snapshot := p.SchedulerCache.Snapshot()
	p.bindings.restore(snapshot, p.exists)
	p.evictions.restore(snapshot, p.current)
	if !p.delivered.Load() {
		return snapshot
	}
	before := p.beside
	p.beside = map[*corev1.Pod]besides{}
	for _, node := range snapshot.Nodes {
		for _, task := range node.Tasks {
			if more := p.complete(task, before); more != nil {
				addToNode(node, task.Status, more)
			}
		}
	}
	for _, job := range snapshot.Jobs {
		for _, task := range job.Tasks {
			if more := p.complete(task, before); more != nil {
				addToJob(job, task.Status, more)
			}
		}
	}
	return snapshot
}

// complete adds to a task what its pod requests besides its containers, and returns how much that is, nil for nothing. Pods that cannot be
// counted stay as they are: the plugin capacity refuses them.
func (p *pods) complete(task *api.TaskInfo, before map[*corev1.Pod]besides) *api.Resource {
	if !requests.MoreThanContainers(task.Pod) || requests.CheckPod(&task.Pod.Spec) != nil {
		return nil
	}
	beside := p.beside[task.Pod]
	if beside == nil {
		if beside = before[task.Pod]; beside == nil {
			beside = besides{}
			for name, quantity := range requests.Beside(task.Pod) {
				beside[name] = requests.Value(name, quantity)
			}
		}
		p.beside[task.Pod] = beside
	}
	more := api.EmptyResource()
	for name, value := range beside {
		add(more, name, value-task.Resreq.Get(name))
		add(task.InitResreq, name, value-task.InitResreq.Get(name))
	}
	task.Resreq.Add(more)
	task.BestEffort = task.InitResreq.IsEmpty()
	return more
}

func add(to *api.Resource, name corev1.ResourceName, value float64) {
	switch name {
	case corev1.ResourceCPU:
		to.MilliCPU += value
	case corev1.ResourceMemory:
		to.Memory += value
	default:
		to.AddScalar(name, value)
	}
}

// addToNode does what NodeInfo.AddTask does with the resources of a task.
func addToNode(node *api.NodeInfo, status api.TaskStatus, more *api.Resource) {
	if status == api.Pipelined {
		node.Pipelined.Add(more)
		return
	}
	if status == api.Releasing {
		node.Releasing.Add(more)
	}
	node.Used.Add(more)
	node.Idle.Add(more.Clone().Multi(-1))
}

// addToJob does what JobInfo.AddTaskInfo does with the resources of a task.
func addToJob(job *api.JobInfo, status api.TaskStatus, more *api.Resource) {
	job.TotalRequest.Add(more)
	if api.AllocatedStatus(status) {
		job.Allocated.Add(more)
	}
}
