package crossquota

import (
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// NewBuilder returns what framework.RegisterPluginBuilder takes. All plugins that one builder
// makes, one for each session, share the memory of the process, so register one builder once.
func NewBuilder() framework.PluginBuilder {
	p := newProcess()
	return func(args framework.Arguments) framework.Plugin {
		p.configure(args)
		return &plugin{process: p, config: p.config}
	}
}

// plugin lives for one session.
type plugin struct {
	process *process
	config  *config
	session *framework.Session
	// accounts are those of GPU nodes, by name.
	accounts map[string]*account
	actions
	// contest is the preemption that is being tried; nil when none is, see there.
	contest atomic.Pointer[contest]
	// asked has the questions that the plugin has put to all plugins, and so to itself, see ask.
	asked sync.Map
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// OnSessionOpen implements framework.Plugin. Where there are no GPU nodes, the plugin takes no
// part in the session.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	klog.V(5).InfoS("Enter plugin", "plugin", Name)
	defer klog.V(5).InfoS("Leaving plugin", "plugin", Name)
	p.session = ssn
	p.process.begin(ssn)
	p.openAccounts()
	p.publish()
	if len(p.accounts) == 0 {
		return
	}
	ssn.AddPrePredicateFn(Name, p.prePredicate)
	ssn.AddPredicateFn(Name, p.predicate)
	ssn.AddSimulatePredicateFn(Name, p.simulatePredicate)
	ssn.AddPreemptableFn(Name, p.preemptable)
	ssn.AddReclaimableFn(Name, p.reclaimable)
	ssn.AddAllocatableFn(Name, p.allocatable)
	ssn.AddPreemptiveFn(Name, p.preemptive)
	ssn.AddOverusedFn(Name, p.overused)
	if p.config.weight > 0 {
		ssn.AddNodeOrderFn(Name, p.nodeOrder)
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: p.onAllocate, DeallocateFunc: p.onDeallocate})
}

// OnSessionClose implements framework.Plugin.
func (p *plugin) OnSessionClose(ssn *framework.Session) {
	p.publish()
	p.process.forget(ssn)
}

// openAccounts counts what pods hold on GPU nodes. Of other nodes it sees that they are still
// the same.
func (p *plugin) openAccounts() {
	p.accounts = map[string]*account{}
	if p.config.idle() {
		return
	}
	for i, node := range p.session.NodeList {
		if facts := p.process.nodeAt(i, node.Node); facts.gpu {
			p.accounts[node.Name] = p.openAccount(node, facts)
		}
	}
	p.process.forgetNodes(p.session)
}

// openAccount counts the pods that Volcano knows of on a node: all that are bound to it, by
// whichever scheduler, and have not ended.
func (p *plugin) openAccount(node *api.NodeInfo, facts *nodeFacts) *account {
	a := newAccount(facts, len(node.Tasks))
	for _, task := range node.Tasks {
		known := p.process.remember(task.Pod)
		if !known.counted || api.CompletedStatus(task.Status) {
			continue
		}
		id := api.TaskID(task.Pod.UID)
		a.hold(id, known.requests, p.holder(task))
		if task.Status == api.Releasing {
			a.leave(id)
		}
	}
	return a
}
