package capacity

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// rootQueue is the name of the queue that every hierarchy starts from, as upstream has it.
const rootQueue = "root"

// openLedger builds the session's tree of queues. Without hierarchy it is a forest of
// queues that have no parent.
func (p *plugin) openLedger() {
	p.unread, p.notYet = map[string]string{}, map[string]bool{}
	p.misplaced, p.listing = map[string]string{}, map[string]bool{}
	specs := make([]ledger.QueueSpec, 0, len(p.session.Queues))
	for _, queue := range p.session.Queues {
		specs = append(specs, p.queueSpec(queue))
	}
	if _, found := p.session.Queues[rootQueue]; !found {
		// Somebody deleted it. The others are all below it, and must not suffer.
		specs = append(specs, ledger.QueueSpec{Name: rootQueue, ListsCards: p.settings.cardQuotaRequired})
	}
	for _, queue := range ledger.Misplaced(specs) {
		p.misplaced[queue.Queue] = queue.Reason
	}
	if !p.hierarchy {
		for i := range specs {
			specs[i].Parent = ""
		}
	}
	p.process.cards.forgetQuotas(p.session.Queues)
	p.countCluster()
	p.ledger, _ = ledger.New(&p.process.dimensions, p.total, specs)
	if root, found := p.session.Queues[rootQueue]; found && p.hierarchy {
		p.setTotals(root)
	}
}

// countCluster finds out what there is to share: what the nodes have, or what root's capability
// says, where it says something. That may be more than the nodes have now, so that jobs are let
// in for which an autoscaler will add nodes.
func (p *plugin) countCluster() {
	total := p.session.TotalResource.Clone()
	if root, found := p.session.Queues[rootQueue]; found && p.hierarchy {
		written := api.NewResource(root.Queue.Spec.Capability)
		if written.MilliCPU > 0 {
			total.MilliCPU = written.MilliCPU
		}
		if written.Memory > 0 {
			total.Memory = written.Memory
		}
		for name, value := range written.ScalarResources {
			total.SetScalar(name, value)
		}
	}
	var err error
	if p.total, err = p.process.resources.amounts(total); err != nil {
		klog.ErrorS(err, "Failed to count the resources of the cluster, queues have no limits but their own")
	} else if p.total == nil {
		p.total = ledger.Amounts{} // a cluster without nodes
	}
}

// setTotals gives the session what it publishes as deserved and guarantee of root: what the
// administrator wrote there or else, as ever, the whole cluster and what its children are
// guaranteed.
func (p *plugin) setTotals(root *api.QueueInfo) {
	if p.session.TotalDeserved = api.NewResource(root.Queue.Spec.Deserved); p.session.TotalDeserved.IsEmpty() {
		p.session.TotalDeserved = p.session.TotalResource.Clone()
	}
	if p.session.TotalGuarantee = api.NewResource(root.Queue.Spec.Guarantee.Resource); !p.session.TotalGuarantee.IsEmpty() {
		return
	}
	for _, queue := range p.session.Queues {
		if queue.Name != rootQueue && parentOf(queue) == rootQueue {
			p.session.TotalGuarantee.Add(api.NewResource(queue.Queue.Spec.Guarantee.Resource))
		}
	}
}

// queueSpec joins what the session knows of a queue with its spec.dra. What cannot be read is
// left out; pods with claims are refused then.
func (p *plugin) queueSpec(queue *api.QueueInfo) ledger.QueueSpec {
	spec := ledger.QueueSpec{Name: queue.Name, Parent: parentOf(queue)}
	object, err := p.queueObject(queue)
	var devices quota.Limits
	p.notYet[queue.Name] = err != nil
	if err == nil && object != nil {
		if devices, err = quota.Devices(object, &p.process.dimensions); err != nil {
			p.note(queue.Name, quotaNotRead, err.Error())
		}
		var cards ledger.Amounts
		cards, spec.ListsCards = p.cardQuota(object)
		devices.Capability = append(devices.Capability, cards...)
	}
	if err != nil {
		p.unread[queue.Name] = err.Error()
	}
	p.listing[queue.Name] = spec.ListsCards
	if top := !p.hierarchy || queue.Name == rootQueue; top && p.settings.cardQuotaRequired {
		spec.ListsCards = true
	}
	resources, written := p.process.resources, queue.Queue.Spec
	spec.Capability = resources.list(written.Capability, devices.Capability)
	spec.Deserved = resources.list(written.Deserved, devices.Deserved)
	spec.Guarantee = resources.list(written.Guarantee.Resource, devices.Guarantee)
	return spec
}

// cardQuota returns the card quota of a queue, and whether it has one. Of one that cannot be read the
// last one that could holds on; a queue that never had any may use no card.
func (p *plugin) cardQuota(object *schedulingv1beta1.Queue) (ledger.Amounts, bool) {
	known := p.process.cards.lastGood
	cards, err := quota.Cards(object, &p.process.dimensions)
	switch {
	case err != nil:
		holds := "until then, none of its pods may use a card"
		if known[object.UID] != nil {
			holds = "until then, its last quota holds"
		}
		p.note(object.Name, quotaNotRead, err.Error()+"; "+holds)
		return known[object.UID], true
	case cards == nil:
		delete(known, object.UID)
		return nil, false
	default:
		known[object.UID] = cards
		return cards, true
	}
}

// queueObject returns the queue with its spec.dra, nil where spec.dra is not read at all.
// A queue that the session sees before the informer does is an error for now, never a
// queue without limits.
func (p *plugin) queueObject(queue *api.QueueInfo) (*schedulingv1beta1.Queue, error) {
	if p.process.queues == nil {
		return nil, nil
	}
	object, err := p.process.queues.Get(queue.Name)
	if err != nil || queue.Queue.UID != "" && object.UID != queue.Queue.UID {
		return nil, fmt.Errorf("its quota has not been read from the API server yet")
	}
	return object, nil
}

func parentOf(queue *api.QueueInfo) string {
	switch parent := queue.Queue.Spec.Parent; {
	case queue.Name == rootQueue:
		return ""
	case parent == "":
		return rootQueue
	default:
		return parent
	}
}
