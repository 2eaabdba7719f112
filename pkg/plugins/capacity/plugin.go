// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/usage"
	"github.com/devicequota/devicequota/pkg/settings"
	"github.com/devicequota/devicequota/pkg/visibility"
)

const (
	// Name is the plugin's name in the scheduler's configuration.
	Name = settings.Name
	// CardName is the plugin's other name. Under this name, it counts cards, cpu, and memory in queues
	// without parents, and a queue may use only the cards that its quota lists.
	CardName = settings.CardName
)

// Plugins makes the plugin for each session of a scheduler.
type Plugins struct {
	cache *cache
}

// New returns plugins that share informers and memory. Call it once in a process. When ctx ends, the
// informers stop.
func New(ctx context.Context) *Plugins {
	return &Plugins{cache: newCache(ctx, clock.RealClock{})}
}

// Builders returns what framework.RegisterPluginBuilder takes, by name: this plugin under both of its names, and upstream's
// plugin gang, which has to close at the right moment.
func (p *Plugins) Builders() map[string]framework.PluginBuilder {
	builders := map[string]framework.PluginBuilder{
		gang.PluginName: func(given framework.Arguments) framework.Plugin { return newGang(given, p.cache) },
	}
	for _, name := range []string{Name, CardName} {
		builders[name] = func(given framework.Arguments) framework.Plugin {
			return &plugin{cache: p.cache, arguments: readArguments(name, given)}
		}
	}
	return builders
}

// Ready returns an error that names what the scheduler cannot read or has not read yet. It may be called at any time. It
// is nil before the first session: a replica that waits to become the leader reads nothing.
func (p *Plugins) Ready() error { return p.cache.informers.Err() }

// Publisher hands what sessions know to those who ask.
func (p *Plugins) Publisher() *visibility.Publisher { return p.cache.publisher }

// Shutdown waits until all informers and goroutines have stopped. The context that New was given must have ended.
func (p *Plugins) Shutdown() { p.cache.shutdown() }

// plugin lives for one session.
type plugin struct {
	cache     *cache
	arguments settings.Settings

	session  *framework.Session
	pods     corelisters.PodLister
	snapshot *snapshot.Snapshot
	cards    *cards.Session
	// devices is nil if the scheduler does not allocate devices.
	devices *devices.Session
	// devicesNotReady and cardsNotReady say why no device, or no limited card, can be allocated in this session.
	// They are nil if they can be allocated.
	devicesNotReady, cardsNotReady *report.NotReady
	// current is the pod whose PrePredicate ran last. It is here for speed alone: Volcano filters the nodes of one pod at
	// a time.
	current currentPod
	// solves finds victims. It is nil until a job asks.
	solves *eviction.Solver
	// describes says what the session knows to those who ask. It is nil until somebody does.
	describes *describe.Session
	// evicting says that upstream evicts for jobs without devices and limited cards.
	evicting bool
	// kept has the nodes where something is kept for pods that others were evicted for. It is nil until keepFreed has run.
	kept map[string]bool
	// forgotten is for how many jobs it was asked again whether others can be evicted, because the answer was old.
	forgotten int
	// decided says for which jobs this plugin decides about evictions. It has the jobs that somebody asked about.
	decided map[api.JobID]bool
	// protected has how many pods of gangs keep each job from getting what its queue deserves. It is nil if none do.
	protected map[api.JobID]int
	// clusterState is a hash of what decides whether others can be evicted, zero if it is not known.
	clusterState uint64
	// held has what the jobs of each priority hold that may be preempted, by queue. It is nil until it is needed.
	held map[ledger.QueueID]map[int32]ledger.Amounts
	// outdated has the nodes that list an extended resource which no class offers any more. It is nil if there are none.
	outdated map[string]bool
	// usage is the session of the recorder of usage.
	usage usage.Session
	// filtered has the placements of pods whose nodes are filtered in this session.
	filtered []*placement
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return p.arguments.Name }

// OnSessionOpen implements framework.Plugin.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	if !p.cache.open(ssn, p.Name()) {
		klog.ErrorS(nil, "The scheduler's configuration has this plugin under both of its names, the second one is left out", "plugin", p.Name())
		return
	}
	p.session, p.cache.opened = ssn, p
	p.cache.start(ssn)
	p.cache.startAccounting(ssn, &p.arguments.Accounting)
	p.cache.report.Begin(ssn.UID)
	p.openSnapshot()
	p.publish()
	p.register(ssn)
}

// register adds the plugin's extension points.
func (p *plugin) register(ssn *framework.Session) {
	ssn.AddJobEnqueueableFn(p.Name(), p.jobEnqueueable)
	ssn.AddJobEnqueuedFn(p.Name(), p.jobEnqueued)
	ssn.AddAllocatableFn(p.Name(), p.allocatable)
	ssn.AddPrePredicateFn(p.Name(), p.prePredicate)
	ssn.AddPredicateFn(p.Name(), p.predicate)
	ssn.AddNodeOrderFn(p.Name(), p.nodeOrder)
	ssn.AddQueueOrderFn(p.Name(), p.queueOrder)
	ssn.AddPreemptiveFn(p.Name(), p.preemptive)
	ssn.AddReclaimableFn(p.Name(), p.reclaimable)
	ssn.AddPreemptableFn(p.Name(), p.preemptable)
	ssn.AddSimulateAddTaskFn(p.Name(), p.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(p.Name(), p.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(p.Name(), p.simulateAllocatable)
	if p.snapshot.Hierarchy {
		ssn.AddVictimQueueOrderFn(p.Name(), p.victimQueueOrder)
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: p.allocate, DeallocateFunc: p.deallocate})
	ssn.RegisterBinder(p.Name(), p.preBinder())
}

// OnSessionClose implements framework.Plugin. It runs before the session writes the status of pods, PodGroups, and
// queues.
func (p *plugin) OnSessionClose(ssn *framework.Session) {
	if p.session == nil {
		return // the session has the plugin under its other name
	}
	p.cache.opened = nil
	p.forgetHopeless()
	p.deallocateUnusable()
	p.report()
	p.publish()
	p.tellAskers()
	p.observe()
	p.snapshot.RememberPayers()
	p.unreserveUnbound()
	p.forgetUnboundNodes()
	p.protectQueues()
	p.cache.closeGang(ssn)
	p.cache.report.End(ssn.Jobs, ssn.PodGroupOldState, ssn.DirtyJobs)
}

// observe lets the recorder of usage observe the session.
func (p *plugin) observe() {
	p.usage.Observe(p.snapshot, p.promisedTo, p.devicesNotReady != nil || p.cardsNotReady != nil)
}
