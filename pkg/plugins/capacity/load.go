package capacity

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// consumer is a pod with claims.
type consumer struct {
	task *api.TaskInfo
	pod  *pod
}

// usage adds up what the pods of one job have and want, without devices.
type usage struct {
	// queue answers for the job if inLedger says so; else that queue is set aside.
	queue                     ledger.QueueID
	inLedger                  bool
	allocated, request, gated ledger.Amounts
	running                   int
	// claims says that some pod has claims, choosing that it waits for cards, and cards that some pod
	// has any.
	claims, choosing, cards bool
}

// devices reports whether a job's devices and cards must be looked at pod by pod.
func (u *usage) devices(job *api.JobInfo) bool {
	least := int(job.PodGroup.Spec.MinMember)
	return u.claims || u.choosing || u.cards && len(job.Tasks) > least || len(job.Tasks) < least
}

// lists is memory that is used again for every job.
type lists struct {
	minimum, elastic, missing, inqueue ledger.Amounts
}

// load charges to the fresh ledger all that is in use: what placed pods hold, and the devices
// of every claim that is allocated, whatever has become of its pod, because its devices
// are not back before the allocation is gone. Then it posts what jobs still need.
func (p *plugin) load() {
	tasks := 0
	var later []*api.JobInfo
	usages := map[api.JobID]usage{}
	var scratch usage
	for _, job := range p.session.Jobs {
		tasks += len(job.Tasks)
		scratch = p.loadJob(job, scratch)
		switch {
		case !scratch.inLedger:
		case scratch.devices(job):
			later = append(later, job)
			usages[job.UID], scratch = scratch, usage{}
		default:
			p.postJob(job, scratch)
		}
	}
	p.forgetPods(tasks)
	p.chargeConsumers()
	p.chargeRemembered()
	p.process.claims.Forget()
	p.findUnknown()
	// What jobs still take of cards that they may choose among hangs on what others have.
	slices.SortFunc(later, func(a, b *api.JobInfo) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID)))
	})
	splits := make([][]ledger.Split, len(later))
	for i, job := range later {
		splits[i] = p.postJob(job, usages[job.UID])
	}
	for i, job := range later {
		p.postSplits(job, usages[job.UID].queue, splits[i])
	}
}

// loadJob charges the resources of a job's pods and notes those with claims. It may reuse the
// lists of another job's usage.
func (p *plugin) loadJob(job *api.JobInfo, reuse usage) usage {
	u := usage{allocated: reuse.allocated[:0], request: reuse.request[:0], gated: reuse.gated[:0]}
	u.queue, u.inLedger = p.ledger.Queue(string(job.Queue))
	if u.inLedger && !p.ledger.Leaf(u.queue) {
		p.noteNotLeaf(job)
	}
	for _, task := range job.Tasks {
		known := p.lookAt(task)
		if known.queue, known.inLedger = u.queue, u.inLedger; !u.inLedger {
			continue
		}
		if known.hasClaims {
			u.claims = true
			p.consumers = append(p.consumers, consumer{task: task, pod: known})
		}
		if known.cards != nil {
			choosing, has := p.loadCards(known, task)
			u.choosing, u.cards = u.choosing || choosing, u.cards || has
		}
		amounts := known.resources.Amounts
		switch {
		case api.AllocatedStatus(task.Status):
			u.running++
			p.charge(u.queue, task, known.ownParts())
			u.allocated, u.request = plus(u.allocated, amounts), plus(u.request, amounts)
			if known.cards != nil {
				u.request = plus(u.request, known.cards.part.Amounts)
			}
		case task.Status == api.Pending:
			u.request = plus(u.request, amounts)
		}
		if task.SchGated {
			u.gated = plus(u.gated, amounts)
		}
	}
	return u
}

// plus adds amounts that are in the ledger already, or may be soon, so that an overflow has
// been reported elsewhere.
func plus(sum, more ledger.Amounts) ledger.Amounts {
	total, err := sum.PlusAll(more)
	if err != nil {
		return sum
	}
	return total
}

func (p *plugin) charge(queue ledger.QueueID, task *api.TaskInfo, d ledger.Demand) {
	if err := p.ledger.Charge(queue, holderOf(task), d); err != nil {
		klog.ErrorS(err, "Failed to charge a pod", "pod", klog.KObj(task.Pod))
	}
}

// chargeConsumers charges claims. Of the pods that share a claim the one that came first carries
// the charge: the one that carried it last; else the first that the claim is reserved for; else
// the oldest. A pod that has a node holds all its claims, any other
// those that are allocated to it already. Pods that are about to go come last.
func (p *plugin) chargeConsumers() {
	slices.SortFunc(p.consumers, func(a, b consumer) int { return olderFirst(a.task, b.task) })
	shared := map[*demand.Claim][]consumer{}
	for _, c := range p.consumers {
		for _, claim := range c.pod.claims {
			switch {
			case c.task.Status == api.Releasing || !api.AllocatedStatus(c.task.Status) && !dra.HeldBy(c.task.Pod, claim.Object):
			case metav1.GetControllerOf(claim.Object) == nil:
				shared[claim] = append(shared[claim], c)
			default:
				p.charge(c.pod.queue, c.task, ledger.Demand{claim.Part})
			}
		}
	}
	for claim, consumers := range shared {
		last := p.process.carriers[claim.Object.UID].holder
		place := func(c consumer) int {
			if holderOf(c.task) == last {
				return -1
			}
			return dra.PlaceOf(c.task.Pod, claim.Object)
		}
		slices.SortStableFunc(consumers, func(a, b consumer) int { return cmp.Compare(place(a), place(b)) })
		for _, c := range consumers {
			p.charge(c.pod.queue, c.task, ledger.Demand{claim.Part})
		}
	}
	for _, c := range p.consumers {
		for _, claim := range c.pod.claims {
			if c.task.Status == api.Releasing && dra.HeldBy(c.task.Pod, claim.Object) {
				p.leave(claim.Part, leaving{queue: c.pod.queue, holder: holderOf(c.task)})
			}
		}
	}
}

func olderFirst(a, b *api.TaskInfo) int {
	if c := a.Pod.CreationTimestamp.Compare(b.Pod.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// findUnknown looks for claims of which it is not known how much capacity they hold, because nobody
// publishes their devices any more. That is so only after a start: a scheduler that has seen the
// devices remembers them.
func (p *plugin) findUnknown() {
	for claim := range p.process.claims.All {
		if len(claim.Usage.Gone) == 0 {
			continue
		}
		for class := range claim.Usage.Classes {
			p.unknown[class] = claim
		}
	}
}

// chargeRemembered charges claims whose pods are gone but whose devices are still taken to
// the queue that had them last or, when that is gone, to the lowest one above it.
func (p *plugin) chargeRemembered() {
	for remembered := range p.process.claims.All {
		uid := remembered.Object.UID
		last, carried := p.process.carriers[uid]
		if _, leaves := p.leaving[remembered.Part]; !carried || leaves || p.ledger.Charged(remembered.Part) {
			continue
		}
		object, inUse := p.source.inUse(remembered.Object)
		if !inUse {
			continue
		}
		claim := p.process.claims.Of(object)
		for _, name := range last.path {
			queue, found := p.ledger.Queue(name)
			if !found {
				continue
			}
			if err := p.ledger.Charge(queue, ledger.Holder(uid), ledger.Demand{claim.Part}); err != nil {
				klog.ErrorS(err, "Failed to charge a claim", "claim", klog.KObj(object))
			}
			break
		}
	}
}

// remember keeps, for the next session, which queue carries which claim.
func (p *plugin) remember() {
	clear(p.process.carriers)
	paths := map[ledger.QueueID][]string{}
	books := p.held()
	for claim := range p.process.claims.All {
		queue, holder, charged := books.Carrier(claim.Part)
		if !charged {
			continue
		}
		if paths[queue] == nil {
			paths[queue] = p.ledger.Path(queue)
		}
		p.process.carriers[claim.Object.UID] = carrier{holder: holder, path: paths[queue]}
	}
}
