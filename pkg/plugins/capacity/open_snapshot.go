// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
	"github.com/devicequota/devicequota/pkg/settings"
)

// openSnapshot takes the snapshot of the session, and opens the sessions of devices and cards on it.
func (p *plugin) openSnapshot() {
	ssn := p.session
	p.pods = ssn.InformerFactory().Core().V1().Pods().Lister()
	p.cache.use(p.arguments)
	p.cache.cards.Refresh(p.arguments.CardResources, p.cache.report)

	allocates := predicates.LeavesDevicesTo(ssn.Tiers, Name, CardName)
	if allocates {
		p.cache.startDevices(ssn)
	}
	var cache *devices.Cache
	if allocates {
		cache = p.cache.devices
	}
	p.checkReadiness(allocates, cache)
	var catalog *dra.Catalog
	if cache != nil && cache.Ready() {
		catalog = cache.Catalog()
	}

	p.findOutdated(catalog)
	hierarchy := ssn.HierarchyEnabled(p.Name()) && !p.arguments.CapacityCardMode
	p.cache.snapshots.Configure(countingOptions(&p.arguments), p.serving(catalog))
	p.usage = p.cache.usage.Open()
	p.snapshot = p.cache.snapshots.Take(snapshot.Input{
		Jobs: ssn.Jobs, Queues: ssn.Queues, Total: ssn.TotalResource,
		Hierarchy: hierarchy, CardQuotaRequired: p.arguments.CardQuotaRequired, DeviceQuotaRequired: p.arguments.DeviceQuotaRequired,
		Matcher: p.matcher(cache), Overlaps: overlapsOf(cache), ReclaimFault: findReclaimFault(ssn.Tiers, p.Name(), conf.EnabledActionMap),
		Quotas: p.cache.quotas, VolcanoJobs: p.cache.jobs, Pods: p.pods, PriorityClasses: p.cache.priorityClasses,
		Claims: devices.ClaimReader{Cache: cache}, ServesClaims: cache != nil, Catalog: catalog,
	})
	if deserved, guarantee := p.snapshot.RootTotals(); deserved != nil {
		ssn.TotalDeserved, ssn.TotalGuarantee = deserved, guarantee
	}
	p.cards = &cards.Session{Fleet: &p.cache.cards.Fleet, Holds: p.snapshot.HoldsCards, Weight: p.arguments.NodeOrderWeight}
	if cache != nil {
		p.openDevices(cache, catalog)
	}
	if catalog != nil {
		cache.SearchOverlaps(catalog, p.snapshot.LimitedClasses())
	}
}

// matcher returns what finds the classes that a device counts for, nil if that is only the class that was asked for.
func (p *plugin) matcher(cache *devices.Cache) *dra.Matcher {
	if cache == nil || p.arguments.DeviceAccounting != settings.AccountMatching {
		return nil
	}
	return cache.Matcher()
}

func overlapsOf(cache *devices.Cache) dra.Overlaps {
	if cache == nil {
		return nil
	}
	return cache.Overlaps()
}

// openDevices gives the session of devices what it needs to know.
func (p *plugin) openDevices(cache *devices.Cache, catalog *dra.Catalog) {
	config := devices.Config{
		Catalog: catalog, Claims: p.snapshot.Counter.Claims, Dimensions: p.snapshot.Dimensions,
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held, CardsOn: p.limitedCardsOn, Refuse: p.snapshot.Refuse,
		Assign: p.snapshot.AssignClaim, Unassign: p.snapshot.UnassignClaim, Attributed: p.snapshot.Attributed, Leaving: p.snapshot.Leaving,
		BindingTimeout: p.arguments.BindingTimeout, Nodes: p.cache.nodes, Pods: p.pods,
	}
	if p.snapshot.UnlistedOnPick() {
		config.RefuseUnlisted = p.snapshot.RefuseUnlisted
	}
	p.devices = cache.Open(config)
}

// devicesCache is nil if the scheduler does not allocate devices.
func (p *plugin) devicesCache() *devices.Cache {
	if p.devices == nil {
		return nil
	}
	return p.devices.Cache
}

// limitedCardsOn returns what a pod would be charged for the cards of a node. It is nil if no queue limits its cards, or if
// the cards are assigned, and so part of what is checked, already.
func (p *plugin) limitedCardsOn(pod *demand.Pod, node *corev1.Node) *ledger.Part {
	if !p.snapshot.LimitsCards(pod) || pod.Cards.Assigned() {
		return nil
	}
	return p.cards.On(pod, node)
}

// countedCardsOn is limitedCardsOn also for a queue that does not limit cards and deserves some.
func (p *plugin) countedCardsOn(pod *demand.Pod, node *corev1.Node) *ledger.Part {
	if !p.snapshot.CountsCards(pod) || pod.Cards.Assigned() {
		return nil
	}
	return p.cards.On(pod, node)
}

// checkReadiness finds out whether the limits, and the devices and cards in use, are known well enough to allocate
// devices and cards. Allocates says that the configuration asks for devices.
func (p *plugin) checkReadiness(allocates bool, cache *devices.Cache) {
	missing := p.missingPod(cache)
	if missing != nil {
		p.cardsNotReady = report.CatchingUp(report.Cards, missing)
	}
	switch {
	case p.cache.quotas != nil && !p.cache.quotas.Synced():
		p.devicesNotReady = p.notRead("the quotas of the queues")
	case allocates && cache == nil:
		p.devicesNotReady = devices.NotStarted
	case cache != nil && !cache.Ready():
		p.devicesNotReady = p.notRead("claims, device classes, and slices")
	case cache != nil && missing != nil:
		p.devicesNotReady = report.CatchingUp(report.Devices, missing)
	}
}

// notReady is why this plugin decides nothing about devices or cards, nil if it does.
func (p *plugin) notReady() *report.NotReady {
	if p.devicesNotReady != nil {
		return p.devicesNotReady
	}
	return p.cardsNotReady
}

// notRead says why devices cannot be allocated before something has been read.
func (p *plugin) notRead(what string) *report.NotReady {
	why := what + " are still being read"
	if err := p.cache.informers.Err(); err != nil {
		why = err.Error()
	}
	return &report.NotReady{Subject: report.Devices, Why: why}
}

func (p *plugin) missingPod(cache *devices.Cache) *corev1.Pod {
	var claims func() ([]*resourceapi.ResourceClaim, error)
	if cache != nil {
		claims = cache.Claims
	}
	return p.cache.snapshots.MissingPod(p.session.Jobs, p.pods, claims, cache != nil && cache.Ready())
}

// jobOf returns the job of a task, nil if the session lacks it.
func (p *plugin) jobOf(task *api.TaskInfo) *api.JobInfo { return p.session.Jobs[task.Job] }
