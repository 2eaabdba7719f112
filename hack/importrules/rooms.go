// SPDX-License-Identifier: Apache-2.0

package main

// room is a folder with all folders below it that are not in a room of their own. The folder need not
// exist yet.
type room struct {
	folder string
	// reaches lists folders of this module, with all below them, that the room may depend on besides
	// itself. A * stands for all of them. A room does not reach rooms inside it unless it lists them.
	reaches []string
	// avoids lists folders of this module, with all below them, that the room must not depend on even
	// if another rule allows it.
	avoids []string
	// shuns lists packages of other modules, with all below them, that the room must not depend on. A *
	// stands for everything but the standard library.
	shuns []string
	// shunsImports is like shuns, but for imports of the room's own packages only: packages of other
	// rooms that it reaches may import them.
	shunsImports []string
}

const (
	capacity         = "pkg/plugins/capacity"
	report           = capacity + "/internal/report"
	snapshot         = capacity + "/internal/snapshot"
	devices          = capacity + "/internal/devices"
	cards            = capacity + "/internal/cards"
	quotas           = capacity + "/internal/quotas"
	reclaim          = capacity + "/internal/reclaim"
	eviction         = capacity + "/internal/eviction"
	usage            = capacity + "/internal/usage"
	describe         = capacity + "/internal/describe"
	explain          = capacity + "/internal/explain"
	victims          = "pkg/victims"
	predicates       = "pkg/plugins/predicates"
	refusals         = "pkg/refusals"
	mistakes         = "pkg/mistakes"
	dispatcher       = "pkg/dispatcher"
	needs            = dispatcher + "/internal/needs"
	spread           = dispatcher + "/internal/spread"
	admission        = dispatcher + "/internal/admission"
	members          = dispatcher + "/internal/members"
	dispatcherCache  = dispatcher + "/internal/cache"
	dispatcherReport = dispatcher + "/internal/report"
	volcano          = "volcano.sh/volcano"
	volcanosAPIs     = "volcano.sh/apis"
)

var rooms = []room{
	{folder: "apis"},
	{folder: "config"},
	{folder: "pkg/client", reaches: []string{"apis"}},
	{folder: "pkg/metric", shuns: []string{"k8s.io", "volcano.sh"}},
	{folder: "pkg/ledger", shuns: []string{"*"}},
	{folder: "pkg/record", shuns: []string{"volcano.sh", "k8s.io/client-go"}},
	{folder: "pkg/card", shuns: []string{"volcano.sh", "k8s.io/client-go"}},
	{folder: "pkg/settings", reaches: []string{"pkg/accounting", "pkg/card", "pkg/ledger"}, shuns: []string{"volcano.sh"}},
	{folder: victims, shuns: []string{"*"}},
	{folder: "pkg/program", reaches: []string{"pkg/version"}, shuns: []string{"volcano.sh"}},
	{folder: "pkg/lease", shuns: []string{"volcano.sh"}},
	{folder: "pkg/version", shuns: []string{"volcano.sh", "k8s.io"}},
	{folder: refusals, reaches: []string{"apis", "pkg/ledger"}, shuns: []string{volcano}},
	{folder: "pkg/quota", reaches: []string{"apis", "pkg/card", "pkg/ledger"}, shuns: []string{volcano}},
	{folder: "pkg/dra", reaches: []string{"pkg/card"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: mistakes, reaches: []string{refusals, "apis", "pkg/card", "pkg/dra", "pkg/ledger"}, shuns: []string{volcano}},
	{folder: mistakes + "/find", reaches: []string{mistakes, refusals, "apis", "pkg/card", "pkg/dra", "pkg/ledger", "pkg/quota"}, shuns: []string{volcano}},
	{folder: "pkg/queueusage", reaches: []string{"apis", "pkg/ledger"}, shuns: []string{volcano, "k8s.io/client-go"}},
	{folder: "pkg/readiness", shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/allocation", reaches: []string{"pkg/card", "pkg/dra", "pkg/readiness", "pkg/record"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/allocation/allocationtest"},
	{folder: "pkg/demand", reaches: []string{"pkg/card", "pkg/dra", "pkg/ledger", "pkg/record"}, shuns: []string{volcano}},

	{folder: capacity, reaches: []string{
		"apis", "pkg/client", "pkg/card", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/dra", "pkg/demand", "pkg/allocation", "pkg/readiness", "pkg/queueusage", "pkg/record", "pkg/settings", "pkg/visibility",
		"pkg/accounting", report, snapshot, quotas, devices, cards, reclaim, eviction, usage, describe, explain, victims, refusals, mistakes, mistakes + "/find", predicates,
	}},
	{folder: report, reaches: []string{refusals, mistakes, "apis", "pkg/ledger", "pkg/metric", "pkg/demand", "pkg/card", "pkg/dra", "pkg/readiness", "pkg/queueusage", "pkg/record"},
		avoids: []string{snapshot, quotas, devices, cards, reclaim}},
	{folder: quotas, reaches: []string{refusals, mistakes, report, "pkg/readiness", "apis", "pkg/client", "pkg/card", "pkg/dra", "pkg/demand", "pkg/quota", "pkg/ledger", "pkg/metric", "pkg/queueusage", "pkg/record"},
		avoids: []string{snapshot, devices, cards, reclaim}, shunsImports: []string{volcano}},
	{folder: snapshot, reaches: []string{refusals, mistakes, mistakes + "/find", report, quotas, "pkg/readiness", "apis", "pkg/client", "pkg/card", "pkg/dra", "pkg/demand", "pkg/quota", "pkg/ledger", "pkg/metric", "pkg/queueusage", "pkg/record"},
		avoids: []string{devices, cards, reclaim}},
	{folder: devices, reaches: []string{refusals, mistakes, report, "pkg/allocation", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/metric", "pkg/readiness", "pkg/queueusage", "pkg/record", "apis"},
		avoids: []string{snapshot, quotas, cards, reclaim, "pkg/quota"}, shunsImports: []string{volcano}},
	{folder: cards, reaches: []string{refusals, mistakes, report, "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/metric", "pkg/readiness", "pkg/queueusage", "pkg/record", "apis"},
		avoids: []string{snapshot, quotas, devices, reclaim, "pkg/allocation"}},
	{folder: reclaim, reaches: []string{"pkg/demand", "pkg/card", "pkg/dra", "pkg/ledger", "pkg/record"},
		avoids: []string{report, snapshot, quotas, devices, cards}, shuns: []string{volcano}},
	{folder: eviction, reaches: []string{snapshot, victims, refusals, mistakes, mistakes + "/find", "apis", "pkg/client", "pkg/readiness", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/queueusage", "pkg/record", report, quotas},
		avoids: []string{devices, cards, reclaim}},
	{folder: usage, reaches: []string{snapshot, "pkg/accounting", "pkg/allocation", "pkg/settings", refusals, mistakes, mistakes + "/find", "apis", "pkg/client", "pkg/readiness", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/queueusage", "pkg/record", report, quotas},
		avoids: []string{devices, cards, reclaim, eviction}},
	{folder: describe, reaches: []string{snapshot, "pkg/visibility", refusals, mistakes, mistakes + "/find", "apis", "pkg/client", "pkg/readiness", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/queueusage", "pkg/record", report, quotas},
		avoids: []string{devices, cards, reclaim, eviction, usage, explain}},
	{folder: explain, reaches: []string{describe, snapshot, "pkg/visibility", refusals, mistakes, mistakes + "/find", "apis", "pkg/client", "pkg/readiness", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/queueusage", "pkg/record", report, quotas},
		avoids: []string{devices, cards, reclaim, eviction, usage}},
	{folder: predicates},
	{folder: "pkg/plugins/crossquota", reaches: []string{"pkg/metric"}},
	{folder: "pkg/accounting", reaches: []string{"pkg/ledger"}, shuns: []string{"*"}},
	{folder: "pkg/accounting/store", reaches: []string{"apis", "pkg/accounting", "pkg/ledger"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/accounting/metrics", reaches: []string{"apis", "pkg/accounting", "pkg/accounting/store", "pkg/ledger", "pkg/metric"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/visibility", reaches: []string{"apis"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/visibility/ui", shuns: []string{"*"}},
	{folder: "pkg/visibility/client", reaches: []string{"apis"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/visibility/server", reaches: []string{"apis", "pkg/visibility"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/cli", reaches: []string{"apis", "pkg/ledger", "pkg/version", "pkg/visibility/client"}, shuns: []string{volcano}},
	{folder: "pkg/lint", reaches: []string{mistakes, mistakes + "/find", refusals, "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/quota",
		"pkg/accounting", "pkg/record", "pkg/settings", dispatcher + "/workload"}, shuns: []string{volcano}, shunsImports: []string{"k8s.io/client-go"}},
	{folder: "pkg/cli/lint", reaches: []string{"pkg/cli", "pkg/lint", mistakes, mistakes + "/find", refusals, "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/quota",
		"pkg/accounting", "pkg/record", "pkg/settings", "pkg/version", "pkg/visibility/client", dispatcher + "/workload"}, shuns: []string{volcano}},
	{folder: "pkg/clusterstate", reaches: []string{"pkg/card"}, shuns: []string{"volcano.sh"}},
	{folder: "pkg/simulation", reaches: []string{"*"}, avoids: []string{"pkg/cli", dispatcher}},
	{folder: "pkg/simulation/internal/apiserver", reaches: []string{"apis"}, shuns: []string{volcano}},
	{folder: "pkg/scheduler", reaches: []string{"apis", "pkg/accounting", "pkg/card", "pkg/dra", "pkg/lease", "pkg/ledger", "pkg/metric", "pkg/settings", "pkg/version", "pkg/visibility", "pkg/visibility/server"}},
	{folder: "pkg/cli/snapshot", reaches: []string{"apis", "pkg/card", "pkg/cli", "pkg/clusterstate", "pkg/ledger", "pkg/version", "pkg/visibility/client"}, shuns: []string{volcano}},
	{folder: "pkg/cli/simulate", reaches: []string{"*"}, avoids: []string{dispatcher}},
	{folder: "pkg/cli/report", reaches: []string{"apis", "pkg/visibility/client", "pkg/cli", "pkg/accounting", "pkg/accounting/store", "pkg/ledger", "pkg/version"}, shuns: []string{volcano}},

	{folder: "pkg/webhook", reaches: []string{mistakes, refusals, "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/quota", "pkg/record"}, shuns: []string{volcano}},
	{folder: "pkg/webhook/certificates", shuns: []string{volcano, volcanosAPIs}},

	{folder: dispatcher, reaches: []string{dispatcher, needs, spread, dispatcherReport, admission, dispatcherCache, members,
		refusals, victims, "apis", "pkg/client", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/metric", "pkg/quota", "pkg/queueusage", "pkg/readiness", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: dispatcher + "/workload", reaches: []string{"pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/record"}, shuns: []string{volcano}},
	{folder: dispatcher + "/binding", reaches: []string{dispatcher + "/workload", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/record"}, shuns: []string{volcano}},
	{folder: needs, reaches: []string{
		dispatcher + "/binding", dispatcher + "/framework", dispatcher + "/workload",
		"apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/quota", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: spread, reaches: []string{
		dispatcher + "/framework", dispatcher + "/binding", dispatcher + "/workload", "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: dispatcherReport, reaches: []string{
		dispatcher + "/binding", dispatcher + "/framework", dispatcher + "/workload",
		"apis", "pkg/client", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/metric", "pkg/queueusage", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: admission, reaches: []string{
		dispatcher + "/binding", dispatcher + "/framework", dispatcher + "/workload", "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: members, reaches: []string{
		dispatcher + "/binding", dispatcher + "/framework", dispatcher + "/workload", "apis", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/record",
	}, shuns: []string{volcano}},
	{folder: dispatcherCache, reaches: []string{
		dispatcher + "/binding", dispatcher + "/framework", dispatcher + "/workload", needs, spread,
		"apis", "pkg/client", "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/quota", "pkg/readiness", "pkg/record",
	}, shuns: []string{volcano}},

	{folder: "cmd", reaches: []string{"*"}},
	{folder: "hack"},
	{folder: "hack/monitoring", reaches: []string{"pkg/metric"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "test/cluster", reaches: []string{"config"}, shuns: []string{volcano, "k8s.io/kubernetes"}},
	{folder: "test/page"},
	{folder: "test/e2e", reaches: []string{"*"}},
	{folder: "test/multicluster", reaches: []string{"*"}},
	{folder: "test/monitoring", reaches: []string{"config", "pkg/metric", "test/cluster"}},
	{folder: "test/chart", reaches: []string{"apis", "config", "pkg/client", "test/cluster", "test/page"}},
	{folder: "test/upstream"},
	{folder: "test/benchmark", reaches: []string{"apis", "config", "pkg/plugins"}},
}
