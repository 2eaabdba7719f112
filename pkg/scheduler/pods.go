// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/api/devices/nvidia/vgpu"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/scheduler/internal/clones"
	"github.com/devicequota/devicequota/pkg/spent"
)

// pods is Volcano's cache with the full requests of pods in its snapshots. Volcano counts only containers, so sessions would put any number of pods
// with pod-level requests (KEP-2837) on a node.
type pods struct {
	*schedulercache.SchedulerCache
	// delivered reports whether any pod requests more than its containers. Before the first one, snapshots do not check each pod.
	delivered atomic.Bool
	// beside has the requests of the pods in the last snapshot besides their containers.
	beside map[*corev1.Pod]besides
	// bindings has the pods that are being bound, and evictions the pods that are being evicted. lister lists all pods.
	bindings  bindings
	evictions evictions
	lister    corelisters.PodLister
	// clones has the copies of nodes and jobs that the last session used. It is nil if each session gets new ones.
	clones *clones.Cache
	// waiting says that something waited when the last session began. Sessions leave out jobs that lack pods, which also wait.
	waiting bool
	// jobs has the jobs of the last session.
	jobs     jobMetrics
	letIn    letIn
	spent    spent.Versions
	recorder *recorder
	queues   *queueStatuses
}

// besides maps resources to amounts in Volcano's units.
type besides map[corev1.ResourceName]float64

// newPods must be called before the cache runs.
func newPods(cache *schedulercache.SchedulerCache, pace *pace) (*pods, error) {
	informer := cache.SharedInformerFactory().Core().V1().Pods()
	said := &recorder{EventRecorder: cache.Recorder, said: map[types.UID]told{}}
	cache.Recorder = said
	p := &pods{
		SchedulerCache: cache, lister: informer.Lister(), jobs: jobMetrics{}, letIn: letIn{jobs: map[api.JobID]string{}}, recorder: said,
		queues: newQueueStatuses(cache.UpdateQueueStatus),
	}
	cache.StatusUpdater = statuses{cache.StatusUpdater, &p.spent}
	if err := informer.Informer().SetTransform(p.notice); err != nil {
		return nil, fmt.Errorf("notice what pods request as a whole: %w", err)
	}
	if err := pace.follow(informer.Informer()); err != nil {
		return nil, fmt.Errorf("notice that pods come and go: %w", err)
	}
	cache.RegisterBinder(preparedBy, &p.bindings)
	return p, nil
}

// decisions are the annotations in which Volcano's plugins numaaware and deviceshare record their decisions for a pod that they bind. Volcano's cache parses
// them for every pod, under its lock. A quantity such as 1e-9999999 takes minutes, and an unknown resource or a list of GPUs without amounts makes the
// scheduler panic.
var decisions = []string{"volcano.sh/topology-decision", vgpu.AssignedIDsAnnotations}

func (p *pods) notice(object any) (any, error) {
	pod, known := object.(*corev1.Pod)
	if !known {
		return object, nil
	}
	if requests.MoreThanContainers(pod) {
		p.delivered.Store(true)
	}
	if pod.Spec.NodeName == "" {
		for _, decision := range decisions {
			delete(pod.Annotations, decision) // it is not bound, so that its user wrote it
		}
	}
	pod.ManagedFields = nil // nothing reads them, and Volcano copies pods in each session
	return pod, nil
}

// open opens a session.
func (p *pods) open(c *configuration) *framework.Session {
	session := p.openWith(c)
	p.letIn.unwritten(session.PodGroupOldState)
	return session
}

func (p *pods) openWith(c *configuration) *framework.Session {
	if given, _ := c.capacity(); !given.Incremental {
		p.clones = nil
		return framework.OpenSession(p, c.tiers, c.configurations)
	}
	if p.clones == nil {
		p.clones = clones.New(staleCopies.WithLabelValues().Inc)
	}
	return p.clones.Open(p, c.tiers, c.configurations)
}

// Snapshot returns a snapshot with the full requests of pods. It must not be called concurrently.
func (p *pods) Snapshot() *api.ClusterInfo {
	var snapshot *api.ClusterInfo
	if p.clones == nil {
		snapshot = p.SchedulerCache.Snapshot()
	} else {
		snapshot = p.clones.Snapshot(p.SchedulerCache)
	}
	p.waiting = waits(snapshot.Jobs)
	p.jobs.keep(snapshot.Jobs)
	p.recorder.keep(snapshot.Jobs)
	p.bindings.restore(snapshot, p.current)
	p.letIn.restore(snapshot.Jobs)
	p.spent.Forget()
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

// complete adds the requests of a pod besides its containers to a task. It returns the added amounts, or nil for none. It skips pods that cannot be
// counted, because the plugin capacity refuses them.
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

// addToNode adds resources of a task to a node, as NodeInfo.AddTask does.
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

// addToJob adds resources of a task to a job, as JobInfo.AddTaskInfo does.
func addToJob(job *api.JobInfo, status api.TaskStatus, more *api.Resource) {
	job.TotalRequest.Add(more)
	if api.AllocatedStatus(status) {
		job.Allocated.Add(more)
	}
}
