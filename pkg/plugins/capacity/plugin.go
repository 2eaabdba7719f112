package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const (
	// Name is the plugin's name in the scheduler's configuration.
	Name = "capacity"
	// CardName is its other name, under which it does what users of a plugin of that name expect:
	// it counts cards, cpu and memory in queues without parents, and cards must be listed to be used.
	CardName = "capacity-card"
)

// NewBuilders returns what framework.RegisterPluginBuilder takes, by name. All plugins that they make, one
// for each session, share the informers and the memory of the process, so call this once.
func NewBuilders() map[string]framework.PluginBuilder {
	p, builders := newProcess(), map[string]framework.PluginBuilder{}
	for _, name := range []string{Name, CardName} {
		builders[name] = func(arguments framework.Arguments) framework.Plugin {
			return &plugin{process: p, settings: readSettings(name, arguments)}
		}
	}
	return builders
}

// plugin lives for one session.
type plugin struct {
	process  *process
	settings settings
	session  *framework.Session
	source   source
	// catalog is what is published of devices; nil while nothing is known.
	catalog *dra.Catalog
	// allocator picks devices; nil until somebody needs some.
	allocator *dra.Allocator
	// attempts has the last attempt to place each pod with claims.
	attempts map[*pod]*attempt
	// leaving has claims of pods that are about to go, see there.
	leaving map[*ledger.Part]leaving
	// unknown has for DeviceClasses a claim of whose devices it is not known what capacity they have.
	unknown map[string]*demand.Claim
	// heldView is the ledger with what they hold; nil when it must be made anew.
	heldView *ledger.Ledger
	// outside has who holds devices outside of all queues; nil while nobody has asked.
	outside []outsider
	// failed has why pods that were given a node must not be bound.
	failed map[*pod]error
	// hierarchy says that queues have parents; without it each stands alone.
	hierarchy bool
	ledger    *ledger.Ledger
	// total is what the cluster has of resources.
	total ledger.Amounts
	// unread says of queues whose quota of devices is not known why not, notYet which quotas have
	// not been read at all.
	unread map[string]string
	notYet map[string]bool
	// listing has the queues that carry a card quota.
	listing map[string]bool
	// misplaced says of queues that have no place in the hierarchy why not.
	misplaced map[string]string
	// problems has what is wrong with queues, and what to change.
	problems map[problem]string
	// consumers are the session's pods with claims, the oldest first.
	consumers []consumer
	// blocked says why no pod with claims can be placed in this session, behind why none with cards that
	// are limited can; empty if they can.
	blocked, behind string
	// refused has why pods were refused in this session, each for the first time.
	refused map[*pod]refusal
	// refusedJobs has why jobs were not let in.
	refusedJobs map[api.JobID]refusal
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return p.settings.name }

// OnSessionOpen implements framework.Plugin.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	if !p.process.open(ssn, p.Name()) {
		klog.ErrorS(nil, "The scheduler's configuration has this plugin under both of its names, the second one is left out", "plugin", p.Name())
		return
	}
	p.process.start(ssn)
	p.session = ssn
	p.hierarchy = ssn.HierarchyEnabled(p.Name()) && !p.settings.cardsOnly
	p.process.apply(p.settings)
	p.problems = map[problem]string{}
	p.attempts, p.failed, p.leaving = map[*pod]*attempt{}, map[*pod]error{}, map[*ledger.Part]leaving{}
	p.unknown = map[string]*demand.Claim{}
	p.refused, p.refusedJobs = map[*pod]refusal{}, map[api.JobID]refusal{}
	p.process.cards.refresh(p.settings.cardResources, p.process.recorder)
	p.openDevices()
	p.openLedger()
	p.process.begin(p.catalog)
	p.load()
	p.findProblems()
	p.publish()

	ssn.AddJobEnqueueableFn(p.Name(), p.jobEnqueueable)
	ssn.AddJobEnqueuedFn(p.Name(), p.jobEnqueued)
	ssn.AddAllocatableFn(p.Name(), p.allocatable)
	ssn.AddPrePredicateFn(p.Name(), p.prePredicate)
	ssn.AddPredicateFn(p.Name(), p.predicate)
	ssn.AddPreemptiveFn(p.Name(), p.preemptive)
	ssn.AddReclaimableFn(p.Name(), p.reclaimable)
	ssn.AddSimulateAddTaskFn(p.Name(), p.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(p.Name(), p.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(p.Name(), p.simulateAllocatable)
	ssn.AddNodeOrderFn(p.Name(), p.nodeOrder)
	ssn.AddQueueOrderFn(p.Name(), p.queueOrder)
	if p.hierarchy {
		ssn.AddVictimQueueOrderFn(p.Name(), p.victimQueueOrder)
	}
	ssn.RegisterBinder(p.Name(), binder{p.source.devices})
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: p.onAllocate, DeallocateFunc: p.onDeallocate})
}

// OnSessionClose implements framework.Plugin. It runs before the session writes the status
// of pods, PodGroups and queues.
func (p *plugin) OnSessionClose(*framework.Session) {
	if p.session == nil {
		return // it was left out
	}
	p.freeStranded()
	p.report()
	p.publish()
	p.remember()
	p.unreserveUnbound()
	p.shieldQueues()
}
