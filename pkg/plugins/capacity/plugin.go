// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"slices"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/nomination"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/usage"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
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

// Plugins creates the plugin for each session of a scheduler.
type Plugins struct {
	cache *cache
}

// New returns plugins that share informers and memory. Call it once per process. The informers stop when ctx ends.
func New(ctx context.Context) *Plugins {
	return &Plugins{cache: newCache(ctx, clock.RealClock{})}
}

// Builders returns the arguments of framework.RegisterPluginBuilder by name: this plugin under both names, and upstream's
// plugin gang, which must close at the right time.
func (p *Plugins) Builders() map[string]framework.PluginBuilder {
	builders := map[string]framework.PluginBuilder{
		gang.PluginName: func(given framework.Arguments) framework.Plugin { return &gangPlugin{gang.New(given), p.cache} },
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

// Begin prepares a session of a scheduler with these plugins: it reads, at first, what the session needs. It returns what DRA offers nodes as extended
// resources, the same object as long as nothing has changed, and nil while no devices are allocated. The goroutine that runs the sessions calls it before each
// session. The plugins call news when a PodGroup comes, so that the next session begins early.
func (p *Plugins) Begin(scheduler schedulercache.Cache, plugins []conf.Tier, news func()) *dra.Offers {
	c, allocates := p.cache, predicates.LeavesDevicesTo(plugins, Name, CardName)
	if inTiers(plugins) {
		from := clients{scheduler.Client(), scheduler.VCClient(), scheduler.ClientConfig(), scheduler.SharedInformerFactory(), news}
		c.start(from)
		if allocates {
			c.startDevices(from)
		}
		c.awaitRead()
	}
	if c.devices == nil || !c.devices.Ready() || !allocates {
		c.offers.Drop()
		return nil
	}
	return c.offers.Of(c.devices.Catalog(), c.devices.Matcher().CELCache())
}

// Publisher returns the publisher of what sessions know.
func (p *Plugins) Publisher() *visibility.Publisher { return p.cache.publisher }

// Shutdown waits until all informers and goroutines have stopped. The context passed to New must have ended.
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
	devices     *devices.Session
	checks      *checks.Session
	placements  *placement.Session
	nominations *nomination.Session
	elastic     *elastic.Session
	usage       usage.Session
	searches    *elastic.Searches // of upstream, which evicts for the other jobs; nil at other times
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return p.arguments.Name }

// inTiers reports whether a session with these plugins has this one.
func inTiers(plugins []conf.Tier) bool {
	return slices.ContainsFunc(plugins, func(tier conf.Tier) bool {
		return slices.ContainsFunc(tier.Plugins, func(plugin conf.PluginOption) bool { return plugin.Name == Name || plugin.Name == CardName })
	})
}

func clientsOf(ssn *framework.Session) clients {
	return clients{ssn.KubeClient(), ssn.VCClient(), ssn.ClientConfig(), ssn.InformerFactory(), func() {}}
}

// OnSessionOpen implements framework.Plugin.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	if !p.cache.open(ssn, p.Name()) {
		klog.ErrorS(nil, "The scheduler's configuration has this plugin under both of its names, the second one is left out", "plugin", p.Name())
		return
	}
	p.session, p.cache.opened = ssn, p
	p.cache.start(clientsOf(ssn))
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
	ssn.AddJobReadyFn(p.Name(), eviction.MayStart)
	ssn.AddAllocatableFn(p.Name(), p.allocatable)
	ssn.AddPrePredicateFn(p.Name(), p.prePredicate)
	ssn.AddPredicateFn(p.Name(), p.predicate)
	ssn.AddNodeOrderFn(p.Name(), p.nodeOrder)
	ssn.AddQueueOrderFn(p.Name(), p.queueOrder)
	ssn.AddHyperNodeGradientForJobFn(p.Name(), p.placements.Gradients)
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
	ssn.RegisterBinder(p.Name(), p.binder())
	p.nominations.Trial.Follow(ssn, p.Name())
}

// OnSessionClose implements framework.Plugin. It runs before the session writes the status of pods, PodGroups, and queues.
func (p *plugin) OnSessionClose(ssn *framework.Session) {
	if p.session == nil {
		return // the session has the plugin under its other name
	}
	p.cache.opened = nil
	p.elastic.Forget()
	p.placements.DeallocateUnusable()
	p.report()
	p.publish()
	p.tellAskers()
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	p.snapshot.RememberPayers()
	p.placements.UnreserveUnbound()
	p.forgetUnboundNodes()
	report.PrepareConditions(ssn.Jobs, ssn.Nodes)
	p.snapshot.ProtectQueues(ssn.Queues, ssn.TotalDeserved, ssn.TotalGuarantee)
	p.cache.closeGang(ssn)
	p.cache.report.End(ssn.Jobs, ssn.PodGroupOldState, ssn.DirtyJobs)
}

// readArguments reads the arguments. It logs invalid arguments, and uses their defaults.
func readArguments(name string, given framework.Arguments) settings.Settings {
	read, invalid := settings.Read(name, given)
	for _, i := range invalid {
		klog.ErrorS(i.Err, "An argument of the plugin is invalid and is left out", "plugin", name, "argument", i.Argument, "value", i.Value)
	}
	return read
}
