// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/extended"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/nomination"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
	"github.com/devicequota/devicequota/pkg/settings"
)

// openSnapshot takes the snapshot of the session, and opens the sessions of the other packages on it.
func (p *plugin) openSnapshot() {
	ssn := p.session
	p.pods = ssn.InformerFactory().Core().V1().Pods().Lister()
	p.cache.use(p.arguments)
	p.cache.cards.Refresh(p.arguments.CardResources, p.cache.report)

	allocates := predicates.LeavesDevicesTo(ssn.Tiers, Name, CardName)
	var cache *devices.Cache
	if allocates {
		p.cache.startDevices(clientsOf(ssn))
		cache = p.cache.devices
	}
	p.checks = &checks.Session{
		Jobs: ssn.Jobs, Nodes: ssn.NodeList, WholeGangs: p.arguments.ReclaimGangs, GangEvictions: p.arguments.GangEvictions, QuotasRead: p.cache.quotas == nil || p.cache.quotas.Synced(),
	}
	p.checkReadiness(allocates, cache)
	var catalog *dra.Catalog
	if cache != nil && cache.Ready() {
		catalog = cache.Catalog()
	}

	hierarchy := ssn.HierarchyEnabled(p.Name()) && !p.arguments.CapacityCardMode
	counting := demand.Options{CardUnlimitedCPUMemory: p.arguments.CardUnlimitedCPUMemory, CapacityCardMode: p.arguments.CapacityCardMode}
	p.cache.snapshots.Configure(counting, extended.Serving(ssn.Nodes, catalog))
	p.usage = p.cache.usage.Open()
	matcher, overlaps := p.matching(cache)
	p.snapshot = p.cache.snapshots.Take(snapshot.Input{
		Jobs: ssn.Jobs, Queues: ssn.Queues, Total: ssn.TotalResource,
		Late:      p.cache.clock.Now().Add(p.arguments.ReservationTimeout),
		Overdue:   p.cache.clock.Now().Add(-p.arguments.ReservationTimeout),
		Hierarchy: hierarchy, CardQuotaRequired: p.arguments.CardQuotaRequired, DeviceQuotaRequired: p.arguments.DeviceQuotaRequired,
		Matcher: matcher, Overlaps: overlaps, ReclaimFault: snapshot.FindReclaimFault(ssn.Tiers, p.Name(), conf.EnabledActionMap),
		Quotas: p.cache.quotas, VolcanoJobs: p.cache.jobs, Pods: p.pods, PriorityClasses: p.cache.priorityClasses,
		Claims: devices.ClaimReader{Cache: cache}, ServesClaims: cache != nil, Catalog: catalog,
	})
	p.snapshot.WithholdLate(ssn.Nodes)
	p.checks.Snapshot = p.snapshot
	if deserved, guarantee := p.snapshot.RootTotals(); deserved != nil {
		ssn.TotalDeserved, ssn.TotalGuarantee = deserved, guarantee
	}
	p.cards = &cards.Session{Fleet: &p.cache.cards.Fleet, Holds: p.snapshot.HoldsCards, Weight: p.arguments.NodeOrderWeight}
	p.placements = &placement.Session{
		Volcano: ssn, Snapshot: p.snapshot, Checks: p.checks, Cards: p.cards, Owner: p.Name(), Outdated: extended.Outdated(ssn.Nodes, catalog),
	}
	if cache != nil {
		p.openDevices(cache, catalog)
		p.placements.Devices, p.checks.MostDevices = p.devices, p.devices.MostOnNode
	}
	p.nominations = &nomination.Session{
		Volcano: ssn, Snapshot: p.snapshot, Placements: p.placements, Cache: p.cache.nominations, Clock: p.cache.clock, Timeout: p.arguments.ReservationTimeout,
	}
	p.elastic = p.newElastic()
	if catalog != nil {
		cache.SearchOverlaps(catalog, p.snapshot.LimitedClasses())
	}
}

func (p *plugin) newElastic() *elastic.Session {
	return &elastic.Session{
		Volcano: p.session, Snapshot: p.snapshot, Checks: p.checks, Placements: p.placements, Nominations: p.nominations, Report: p.cache.report,
		Cache: p.cache.elastic, Clock: p.cache.clock, Owner: p.Name(), WholeGangs: p.arguments.ReclaimGangs,
	}
}

// matching returns what finds the classes that a device counts for, and the classes with the same devices. The matcher is nil if a device
// counts only for the requested class.
func (p *plugin) matching(cache *devices.Cache) (matcher *dra.Matcher, overlaps dra.Overlaps) {
	if cache == nil {
		return nil, nil
	}
	if p.arguments.DeviceAccounting == settings.AccountMatching {
		matcher = cache.Matcher()
	}
	return matcher, cache.Overlaps()
}

// openDevices opens the session of devices.
func (p *plugin) openDevices(cache *devices.Cache, catalog *dra.Catalog) {
	config := devices.Config{
		Catalog: catalog, Claims: p.snapshot.Counter.Claims, Dimensions: p.snapshot.Dimensions,
		Ledger: p.snapshot.Ledger, Held: p.snapshot.Held, CardsOn: p.placements.LimitedCardsOn, Refuse: p.snapshot.Refuse,
		Attributed: p.snapshot.Attributed, RefuseJoin: p.snapshot.RefuseJoin, Leaving: p.snapshot.Leaving,
		BindingTimeout: p.arguments.BindingTimeout, Nodes: p.cache.nodes, Pods: p.pods,
	}
	if p.snapshot.UnlistedOnPick() {
		config.RefuseUnlisted = p.snapshot.RefuseUnlisted
	}
	if p.snapshot.UnknownOnPick() {
		config.RefuseUnknown = p.snapshot.RefuseUnknown
	}
	p.devices = cache.Open(config)
}

// checkReadiness determines whether the limits, and the devices and cards in use, are known well enough to allocate
// devices and cards. allocates says that the configuration asks for devices.
func (p *plugin) checkReadiness(allocates bool, cache *devices.Cache) {
	missing := p.missingPod(cache)
	if missing != nil {
		p.checks.CardsNotReady = report.CatchingUp(report.Cards, missing)
	}
	switch {
	case !p.checks.QuotasRead:
		p.checks.DevicesNotReady = p.notRead("the quotas of the queues")
	case allocates && cache == nil:
		p.checks.DevicesNotReady = &report.NotReady{Subject: report.Devices, Why: "claims cannot be read; the scheduler's log says why"}
	case cache != nil && !cache.Ready():
		p.checks.DevicesNotReady = p.notRead("claims, device classes, and slices")
	case cache != nil && missing != nil:
		p.checks.DevicesNotReady = report.CatchingUp(report.Devices, missing)
	}
}

// notRead returns why devices cannot be allocated before something has been read.
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
		claims = cache.Allocated
	}
	return p.cache.snapshots.MissingPod(p.session.Jobs, p.pods, claims, cache != nil && cache.Ready())
}

// jobOf returns the job of a task, nil if the session lacks it.
func (p *plugin) jobOf(task *api.TaskInfo) *api.JobInfo { return p.session.Jobs[task.Job] }
