// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// NewBuilder returns a builder for framework.RegisterPluginBuilder. Volcano builds a plugin for every
// session; all plugins of one builder share its cache. Register a builder once only.
func NewBuilder() framework.PluginBuilder {
	c := newCache()
	return func(args framework.Arguments) framework.Plugin {
		c.configure(args)
		return &plugin{cache: c, config: c.config}
	}
}

// plugin lives for one session.
type plugin struct {
	cache   *cache
	config  *config
	session *framework.Session
	// accounts has the accounts of GPU nodes by name.
	accounts map[string]*account
	actions
	// preemption is the preemption that the preempt action is trying; nil if there is none.
	preemption atomic.Pointer[preemption]
	// asked has the questions that the plugin is asking all plugins, itself included, see ask.
	asked sync.Map
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// OnSessionOpen implements framework.Plugin. If there are no GPU nodes, the plugin takes no part in the
// session.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	klog.V(5).InfoS("Enter plugin", "plugin", Name)
	defer klog.V(5).InfoS("Leaving plugin", "plugin", Name)
	p.session = ssn
	p.cache.begin(ssn)
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
	p.cache.forget(ssn)
}

// openAccounts makes an account for every GPU node. For other nodes it only checks that they have not
// changed.
func (p *plugin) openAccounts() {
	p.accounts = map[string]*account{}
	if p.config.idle() {
		return
	}
	for i, node := range p.session.NodeList {
		if facts := p.cache.nodeAt(i, node.Node); facts.gpu {
			p.accounts[node.Name] = p.openAccount(node, facts)
		}
	}
	p.cache.forgetNodes(p.session)
}

// openAccount charges the pods of a node: all pods that are bound to it by any scheduler and have not
// ended.
func (p *plugin) openAccount(node *api.NodeInfo, facts *nodeFacts) *account {
	a := newAccount(facts, len(node.Tasks))
	for _, task := range node.Tasks {
		pod := p.cache.remember(task.Pod)
		if !pod.counted || api.CompletedStatus(task.Status) {
			continue
		}
		id := api.TaskID(task.Pod.UID)
		a.charge(id, pod.requests, p.holder(task))
		if task.Status == api.Releasing {
			a.markReleasing(id)
		}
	}
	return a
}
