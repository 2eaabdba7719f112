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
	p.unread, p.misplaced = map[string]string{}, map[string]string{}
	specs := make([]ledger.QueueSpec, 0, len(p.session.Queues))
	for _, queue := range p.session.Queues {
		specs = append(specs, p.queueSpec(queue))
	}
	misplaced := ledger.Misplaced(specs)
	if !p.session.HierarchyEnabled(Name) {
		for i := range specs {
			specs[i].Parent = ""
		}
	}
	p.ledger, _ = ledger.New(&p.process.dimensions, specs)
	for _, queue := range misplaced {
		p.misplaced[queue.Queue] = queue.Reason
		klog.ErrorS(nil, "A queue is set aside", "queue", queue.Queue, "reason", queue.Reason)
	}
}

// queueSpec joins what the session knows of a queue with its spec.dra.
func (p *plugin) queueSpec(queue *api.QueueInfo) ledger.QueueSpec {
	spec := ledger.QueueSpec{Name: queue.Name, Parent: parentOf(queue)}
	object, err := p.queueObject(queue)
	if err == nil && object != nil {
		spec.Capability, err = quota.Capability(object, &p.process.dimensions)
	}
	if err != nil {
		p.unread[queue.Name] = err.Error()
	}
	return spec
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
