// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/allocation"
)

// bindings has the pods between the decision to bind them and the confirmation in Volcano's cache. Meanwhile, the cache may take them for
// pending pods in two cases. First, a user changes the PodGroup of a pod, and the cache looks for the pod in the new job. Second, a pod is
// older than its volume claims, and the cache reads this pod again after some time, whatever its state. Sessions would then give the room of
// the pod to others, and bind the pod again.
type bindings struct {
	mu sync.Mutex
	// tasks has the pods with their nodes, and since when.
	tasks map[types.UID]binding
	// preBinders prepare bindings for plugins, by name.
	preBinders map[string]schedulercache.PreBinder
}

type binding struct {
	task  *api.TaskInfo
	since time.Time
}

// preparedBy is the key of a binding's extension that lists who has prepared it. It is also the name of Volcano's only PreBinder.
const preparedBy = "bindings"

// AddBindTask implements schedulercache.Cache.
func (p *pods) AddBindTask(bind *schedulercache.BindContext) error {
	uid := bind.TaskInfo.Pod.UID
	p.bindings.begin(uid, bind.TaskInfo)
	err := p.SchedulerCache.AddBindTask(bind)
	if err != nil {
		p.bindings.end(uid)
	}
	return err
}

// RegisterBinder implements schedulercache.Cache. It collects the plugins' PreBinders, because Volcano does not report a binding that a plugin
// cannot prepare.
func (p *pods) RegisterBinder(name string, binder any) {
	preBinder, is := binder.(schedulercache.PreBinder)
	if !is {
		p.SchedulerCache.RegisterBinder(name, binder)
		return
	}
	p.bindings.register(name, preBinder)
}

func (b *bindings) register(name string, preBinder schedulercache.PreBinder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.preBinders == nil {
		b.preBinders = map[string]schedulercache.PreBinder{}
	}
	b.preBinders[name] = preBinder
}

func (b *bindings) registered() []schedulercache.PreBinder {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []schedulercache.PreBinder
	for _, name := range slices.Sorted(maps.Keys(b.preBinders)) { // in one order, with capacity before predicates: it must hear of bindings that others cannot prepare
		all = append(all, b.preBinders[name])
	}
	return all
}

func (b *bindings) begin(pod types.UID, task *api.TaskInfo) {
	kept := task.Clone() // the session goes on with the original
	kept.Status = api.Binding
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks == nil {
		b.tasks = map[types.UID]binding{}
	}
	b.tasks[pod] = binding{kept, time.Now()}
}

func (b *bindings) end(pod types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tasks, pod)
}

// PreBind implements schedulercache.PreBinder.
func (b *bindings) PreBind(ctx context.Context, bind *schedulercache.BindContext) error {
	var prepared []schedulercache.PreBinder
	for _, preBinder := range b.registered() {
		if err := preBinder.PreBind(ctx, bind); err != nil {
			b.undo(ctx, bind, prepared)
			return err
		}
		prepared = append(prepared, preBinder)
	}
	bind.Extensions[preparedBy] = prepared
	return nil
}

// PreBindRollBack implements schedulercache.PreBinder. It rolls back the PreBinders of this binding, even if later sessions have registered others.
func (b *bindings) PreBindRollBack(ctx context.Context, bind *schedulercache.BindContext) {
	prepared, _ := bind.Extensions[preparedBy].([]schedulercache.PreBinder)
	b.undo(ctx, bind, prepared)
}

func (b *bindings) undo(ctx context.Context, bind *schedulercache.BindContext, prepared []schedulercache.PreBinder) {
	for i := len(prepared) - 1; i >= 0; i-- {
		prepared[i].PreBindRollBack(ctx, bind)
	}
	b.end(bind.TaskInfo.Pod.UID)
}

// restore corrects a snapshot: pods that are being bound are on their nodes, and not pending. Current returns a pod as it is now, or nil if it is
// gone or has ended.
func (b *bindings) restore(snapshot *api.ClusterInfo, current func(*corev1.Pod) *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.tasks) == 0 {
		return
	}
	inJobs := map[types.UID]*api.TaskInfo{}
	for _, job := range snapshot.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if kept := b.tasks[task.Pod.UID].task; kept != nil && current(task.Pod) != nil {
				bindAgain(job, task, kept.NodeName)
				inJobs[task.Pod.UID] = task
			}
		}
	}
	for uid, kept := range b.tasks {
		if current(kept.task.Pod) == nil || !place(snapshot.Nodes[kept.task.NodeName], cmp.Or(inJobs[uid], kept.task)) {
			delete(b.tasks, uid)
		}
	}
}

// bindAgain marks a pod in a job of a snapshot as being bound.
func bindAgain(job *api.JobInfo, task *api.TaskInfo, node string) {
	task.NodeName = node
	if err := job.UpdateTaskStatus(task, api.Binding); err != nil {
		klog.ErrorS(err, "Failed to note that a pod is being bound", "pod", klog.KObj(task.Pod))
	}
}

// place puts a pod on its node in a snapshot. It returns false if Volcano's cache already has the pod as bound.
func place(node *api.NodeInfo, task *api.TaskInfo) (binding bool) {
	if node == nil {
		return true
	}
	if known := node.Tasks[api.PodKey(task.Pod)]; known != nil && known.UID == task.UID {
		return known.Status == api.Binding
	}
	placed := task.Clone()
	if err := node.AddTask(placed); err != nil {
		klog.V(3).InfoS("A pod is being bound to a node that has no room", "pod", klog.KObj(task.Pod), "reason", err.Error())
	}
	return true
}

// current returns the pod from the API server, or nil if it is gone or has ended.
func (p *pods) current(pod *corev1.Pod) *corev1.Pod {
	found, err := p.lister.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || found.UID != pod.UID || allocation.Finished(found) {
		return nil
	}
	return found
}
