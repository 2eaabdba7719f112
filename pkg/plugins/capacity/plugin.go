package capacity

import (
	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "capacity"

// NewBuilder returns what framework.RegisterPluginBuilder takes. All plugins that one
// builder makes, one for each session, share the informers and the memory of the process,
// so register one builder once.
func NewBuilder() framework.PluginBuilder {
	p := newProcess()
	return func(framework.Arguments) framework.Plugin {
		return &plugin{process: p}
	}
}

// plugin lives for one session.
type plugin struct {
	process *process
	session *framework.Session
	source  source
	ledger  *ledger.Ledger
	// unread says of queues whose quota is not known yet why not.
	unread map[string]string
	// misplaced says of queues that are no part of the ledger why not.
	misplaced map[string]string
	// charged has the claims that were charged in this session.
	charged map[ledger.Key]*resourceapi.ResourceClaim
	// blocked says why no pod with claims can be placed in this session; empty if they can.
	blocked string
	// refused has why pods were refused in this session, each for the first time.
	refused map[api.TaskID]refusal
}

var _ framework.Plugin = &plugin{}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// OnSessionOpen implements framework.Plugin.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	p.process.start(ssn)
	p.session = ssn
	p.source = newSource(ssn, p.process)
	p.refused = map[api.TaskID]refusal{}
	p.charged = map[ledger.Key]*resourceapi.ResourceClaim{}
	p.blocked = p.whyBlocked()
	p.openLedger()
	p.chargeHeld()

	ssn.AddAllocatableFn(Name, p.allocatable)
	ssn.AddPrePredicateFn(Name, p.prePredicate)
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: p.onAllocate, DeallocateFunc: p.onDeallocate})
}

// OnSessionClose implements framework.Plugin. It runs before the session writes the status
// of pods, PodGroups and queues.
func (p *plugin) OnSessionClose(*framework.Session) {
	p.report()
	p.remember()
	p.clearInFlight()
	p.shieldQueues()
}
