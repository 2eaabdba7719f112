package capacity

import (
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// allocatable is Volcano's AllocatableFn: may the queue take the pod on top of what it has?
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	r, refused := p.check(queue, task)
	if !refused {
		return true
	}
	p.refuse(task, r)
	return false
}

// prePredicate is Volcano's PrePredicateFn. The backfill action, which places pods that
// request no ordinary resources, asks no AllocatableFn, so those pods are checked here.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	if !task.BestEffort {
		return nil
	}
	job, found := p.session.Jobs[task.Job]
	if !found {
		return nil
	}
	queue, found := p.session.Queues[job.Queue]
	if !found {
		return fmt.Errorf("queue %s does not exist", job.Queue)
	}
	r, refused := p.check(queue, task)
	if !refused {
		return nil
	}
	p.refuse(task, r)
	return errors.New(r.message)
}

// check says whether, and then why, the queue refuses the pod.
func (p *plugin) check(queue *api.QueueInfo, task *api.TaskInfo) (refusal, bool) {
	if state := queue.Queue.Status.State; state != scheduling.QueueStateOpen {
		return refusal{message: fmt.Sprintf("Queue <%s> takes no pods: its state is %q, not Open", queue.Name, state)}, true
	}
	id, found := p.ledger.Queue(queue.Name)
	if !found {
		return refusal{message: fmt.Sprintf("Queue <%s> takes no pods: %s", queue.Name, p.misplaced[queue.Name])}, true
	}
	if !p.ledger.Leaf(id) {
		return refusal{message: fmt.Sprintf("Queue <%s> takes no pods, because other queues are below it: use one of those", queue.Name)}, true
	}
	if len(task.Pod.Spec.ResourceClaims) == 0 {
		return refusal{}, false
	}
	return p.checkDevices(id, task)
}

func (p *plugin) checkDevices(queue ledger.QueueID, task *api.TaskInfo) (refusal, bool) {
	if p.blocked != "" {
		return refusal{message: "Devices cannot be handed out yet: " + p.blocked}, true
	}
	for _, name := range p.ledger.Path(queue) {
		if reason, unread := p.unread[name]; unread {
			return refusal{message: fmt.Sprintf("Queue <%s> hands out no devices: %s", name, reason)}, true
		}
	}
	devices, err := demand.OfPod(task.Pod, p.source, &p.process.dimensions)
	if errors.Is(err, errNoDRA) && !p.ledger.Limits(queue, ledger.DeviceCount) {
		return refusal{}, false
	}
	if err != nil {
		return uncountable(err), true
	}
	for _, o := range devices.Open {
		if name, limited := p.ledger.LimitedBy(queue, o); limited {
			return uncountable(fmt.Errorf("it asks for all devices of class %s, which queue %s limits: ask for a count instead",
				p.process.dimensions.Dimension(o), name)), true
		}
	}
	shortage, fits, err := p.ledger.Fits(queue, devices.Demand)
	if err != nil {
		return uncountable(err), true
	}
	if !fits {
		return refusal{reason: insufficientScalarQuota, message: shortage.String()}, true
	}
	return refusal{}, false
}

// uncountable is the refusal of a pod whose demand cannot be told. A claim that is about
// to be created from its template is no news for anybody.
func uncountable(err error) refusal {
	r := refusal{reason: taskRequestFailed, message: "Pod cannot be counted against its queue's quota: " + err.Error()}
	var onItsWay *dra.NotCreatedError
	if errors.As(err, &onItsWay) {
		r.reason = ""
	}
	return r
}

// refuse notes why a pod waits. Actions may ask several times; the first answer counts,
// because it is the one that a next session will give again.
func (p *plugin) refuse(task *api.TaskInfo, r refusal) {
	klog.V(3).InfoS("Pod is refused", "pod", klog.KRef(task.Namespace, task.Name), "reason", r.message)
	if _, already := p.refused[task.UID]; already {
		return
	}
	p.refused[task.UID] = r
	if job, found := p.session.Jobs[task.Job]; found && job.JobFitErrors == "" {
		job.JobFitErrors = r.message
	}
}
