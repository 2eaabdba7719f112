// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Config is the configuration of a session.
type Config struct {
	// Catalog is what is published about devices.
	Catalog *dra.Catalog
	// Claims counts the amounts of claims.
	Claims     *demand.Claims
	Dimensions *ledger.Dimensions
	// Ledger has the charges of the session.
	Ledger *ledger.Ledger
	// Held returns the ledger that includes what releasing pods still hold. Devices are allocated within its limits.
	Held func() *ledger.Ledger
	// CardsOn returns what a pod would be charged for the cards of a node, nil if no queue limits its cards.
	CardsOn func(*demand.Pod, *corev1.Node) *ledger.Part
	// Refuse explains a refusal of the ledger for a pod of a queue.
	Refuse func(ledger.QueueID, *ledger.Refusal) report.Refusal
	// RefuseUnlisted refuses devices if no queue on the way to the root lists one of their classes. It is nil unless a
	// listed class is required and known only when devices are picked.
	RefuseUnlisted func(ledger.QueueID, *dra.Usage) report.Refusal
	// RefuseUnknown refuses picked devices with a capacity of which an unknown amount is in use. It is nil if there are none.
	RefuseUnknown func(queue ledger.QueueID, picked ledger.Amounts) report.Refusal
	// Leaving reports whether an allocated claim is no longer used.
	Leaving func(*resourceapi.ResourceClaim) bool
	// Attributed reports whether the queue that pays for a claim is known.
	Attributed func(claim types.UID) bool
	// RefuseJoin refuses a pod that would inherit claims for which its queue has no room beside what the pod asks for.
	RefuseJoin func(*ledger.Ledger, *demand.Pod, ledger.Demand) report.Refusal
	// BindingTimeout is the time that devices have to become ready after their allocation.
	BindingTimeout time.Duration

	Nodes corelisters.NodeLister
	Pods  corelisters.PodLister
}

// Session allocates devices during one session of the scheduler. Filter is safe for concurrent use. The other methods are not.
type Session struct {
	*Cache
	Config
	// allocator picks devices. It is nil until a pod needs devices.
	allocator *dra.Allocator
	// allocated are the claims whose devices the allocator found in use. Their devices stay in use for the session, whatever happens to the claims.
	allocated []*resourceapi.ResourceClaim
	// devicesVersion is the version of the devices just before the allocator read which are in use.
	devicesVersion uint64
	// picks are shared by pods with equal claims.
	picks picks
	// evictable picks devices as if no queue held any.
	evictable evictable
	// unused are the allocated claims that are no longer used. It is nil before the first search.
	unused []allocatedClaim
	// promises are the promises by claim. It is nil if there are none.
	promises map[types.UID]*promise
	// promisedDevices has the promised allocations of each device.
	promisedDevices map[dra.DeviceID][]*resourceapi.AllocationResult
	// following has the devices that pods get in place of those that a search would find. It is nil if there are none.
	following Choice
	// budget limits the long searches of the session.
	budget *dra.Budget
	// atRoot are the holders of devices that are charged to root because their queue is unknown. It is nil until a pod lacks devices.
	atRoot []report.RootHolder
}

// Open begins a session.
func (c *Cache) Open(config Config) *Session {
	c.memory.open(config.Catalog, config.Pods)
	if c.budget == nil {
		c.budget = dra.NewBudget(dra.BudgetOfSession)
	} else {
		searches, spent := c.budget.Used()
		klog.V(4).InfoS("The last session has searched for devices", "searches", searches, "spent", spent)
		c.budget = c.budget.Next()
	}
	return &Session{Cache: c, Config: config, budget: c.budget}
}

// BeginAnswers gives the following searches a budget of their own, so user questions take nothing from pods. Call it after all actions of
// the session have run.
func (s *Session) BeginAnswers() { s.budget = dra.NewBudget(dra.BudgetOfAnswers) }

// openAllocator creates the allocator on first use.
func (s *Session) openAllocator() (err error) {
	if s.allocator == nil {
		s.devicesVersion = s.DevicesVersion()
		if s.allocator, s.allocated, err = s.pending.Allocator(s.Catalog); err == nil {
			s.allocator.Spare(s.conditions.Failed())
		}
	}
	return err
}

// SearchBudget returns the search budget of the last session.
func (c *Cache) SearchBudget() *dra.Budget { return c.budget }
