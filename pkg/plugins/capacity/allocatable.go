package capacity

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// allocatable is Volcano's AllocatableFn: may the queue take the pod on top of what it has?
func (p *plugin) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	r, refused := p.check(p.ledger, queue, task)
	if !refused {
		return true
	}
	p.refuse(task, r)
	return false
}

// check says whether, and then why, the queue refuses the pod, by the ledger or a view of it.
func (p *plugin) check(books *ledger.Ledger, info *api.QueueInfo, task *api.TaskInfo) (refusal, bool) {
	known := p.process.pods[task.Pod]
	if known == nil {
		return refusal{message: "Pod is not known to this session yet"}, true
	}
	queue, r, refused := p.queueOf(known, info)
	if refused {
		return r, true
	}
	if known.hasClaims {
		if r, refused := p.checkDevices(queue, known); refused {
			return r, true
		}
	} else if known.err != nil {
		return uncountable(known.err), true
	}
	if known.cards != nil || known.unnamed != "" {
		if r, refused := p.checkCards(queue, known); refused {
			return r, true
		}
	}
	shortage, err := books.Fits(queue, p.asks(known))
	switch {
	case err != nil:
		return uncountable(err), true
	case shortage != nil:
		var refusals cardRefusals
		if shortage.Dimension.Kind == ledger.Card && p.limitsCards(known) {
			refusals, _ = p.refuseCards(books, queue, known) // without, the message is about the first card
		}
		return p.shortOf(queue, known, shortage, refusals), true
	case known.extended != "":
		return p.unserved(known.extended), true
	default:
		return refusal{}, false
	}
}

// unserved is the refusal of a pod that requests what Volcano v1.14.1 does not place: its own
// checks look for the resource in what nodes have, where it is not.
func (p *plugin) unserved(name corev1.ResourceName) refusal {
	return refusal{reason: taskRequestFailed, message: fmt.Sprintf(
		"It requests <%s>, which no node has and DeviceClass %s offers by dynamic resource allocation, where Volcano cannot place it: ask for the devices with a ResourceClaim of that class instead",
		name, p.process.resources.named(name).class)}
}

// queueOf is checkQueue without looking the queue up, for a pod that is known to be in it.
func (p *plugin) queueOf(known *pod, info *api.QueueInfo) (ledger.QueueID, refusal, bool) {
	if queue := known.queue; known.inLedger && p.ledger.Name(queue) == info.Name && p.ledger.Leaf(queue) && !closed(info) {
		return queue, refusal{}, false
	}
	return p.checkQueue(info)
}

// checkQueue refuses pods of queues that take none, whatever the pod asks for.
func (p *plugin) checkQueue(info *api.QueueInfo) (ledger.QueueID, refusal, bool) {
	if closed(info) {
		return 0, refusal{reason: unschedulable, message: fmt.Sprintf("Queue <%s> takes no pods: its state is %q, not Open", info.Name, info.Queue.Status.State)}, true
	}
	queue, found := p.ledger.Queue(info.Name)
	if !found {
		return 0, refusal{reason: unschedulable, message: fmt.Sprintf("Queue <%s> takes no pods: %s", info.Name, p.misplaced[info.Name])}, true
	}
	if !p.ledger.Leaf(queue) {
		return 0, refusal{reason: unschedulable, message: fmt.Sprintf("Queue <%s> takes no pods, because other queues are below it: use one of those", info.Name)}, true
	}
	return queue, refusal{}, false
}

func closed(info *api.QueueInfo) bool {
	return info.Queue.Status.State != scheduling.QueueStateOpen
}

// checkDevices refuses pods whose devices cannot be counted, or not be compared with limits.
func (p *plugin) checkDevices(queue ledger.QueueID, known *pod) (refusal, bool) {
	if p.blocked != "" {
		return refusal{message: "Devices cannot be handed out yet: " + p.blocked}, true
	}
	if len(p.unread) > 0 {
		for _, name := range p.ledger.Path(queue) {
			if reason, unread := p.unread[name]; unread {
				return refusal{message: fmt.Sprintf("Queue <%s> hands out no devices: %s", name, reason)}, true
			}
		}
	}
	if errors.Is(known.err, errNoDRA) && !p.limitsDevices(queue) {
		return refusal{}, false
	}
	if known.err != nil {
		return uncountable(known.err), true
	}
	return p.checkUnknown(queue, known)
}

// checkCards refuses pods with cards whose names nobody knows, if there are limits.
func (p *plugin) checkCards(queue ledger.QueueID, known *pod) (refusal, bool) {
	if r, refused := p.checkCardLimits(queue); refused {
		return r, true
	}
	unnamed := known.unnamed
	if known.cards != nil {
		unnamed = known.cards.Unnamed()
	}
	if unnamed != "" && p.ledger.ListsCards(queue) {
		return uncountable(fmt.Errorf("it requests %s, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product", unnamed)), true
	}
	return refusal{}, false
}

// checkCardLimits refuses cards while it is not known which are in use, or what the limits are.
func (p *plugin) checkCardLimits(queue ledger.QueueID) (refusal, bool) {
	if p.behind == "" && len(p.unread) == 0 {
		return refusal{}, false
	}
	if p.behind != "" && p.ledger.ListsCards(queue) {
		return refusal{message: "Cards cannot be handed out yet: " + p.behind}, true
	}
	for _, name := range p.ledger.Path(queue) {
		if p.notYet[name] {
			return refusal{message: fmt.Sprintf("Queue <%s> hands out no cards: %s", name, p.unread[name])}, true
		}
	}
	return refusal{}, false
}

// checkUnknown refuses devices of a class whose capacity is limited while it is not known how much of
// it is in use.
func (p *plugin) checkUnknown(queue ledger.QueueID, known *pod) (refusal, bool) {
	for class, holder := range p.unknown {
		for _, o := range p.process.dimensions.Capacities(class) {
			if by, _, limited := p.ledger.Nearest(queue, o); limited && known.wants(class) {
				return uncountable(fmt.Errorf("queue %s limits %s, but device %s of ResourceClaim %s/%s is published no more, so that nobody knows how much that one has: start its driver again, or delete the claim",
					p.ledger.Name(by), p.process.dimensions.Dimension(o), holder.Usage.Gone[0], holder.Object.Namespace, holder.Object.Name)), true
			}
		}
	}
	return refusal{}, false
}

// uncountable is the refusal of a pod whose demand cannot be told. A claim that is about
// to be created from its template is no news for anybody.
func uncountable(err error) refusal {
	r := refusal{reason: taskRequestFailed, message: "It cannot be counted against its queue's quota: " + err.Error()}
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
	known := p.process.pods[task.Pod]
	if _, already := p.refused[known]; already || known == nil {
		return
	}
	p.refused[known] = r
	if job, found := p.session.Jobs[task.Job]; found && job.JobFitErrors == "" {
		job.JobFitErrors = r.message
	}
}
