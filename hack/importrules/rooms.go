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
	capacity     = "pkg/plugins/capacity"
	report       = capacity + "/internal/report"
	snapshot     = capacity + "/internal/snapshot"
	devices      = capacity + "/internal/devices"
	cards        = capacity + "/internal/cards"
	quotas       = capacity + "/internal/quotas"
	reclaim      = capacity + "/internal/reclaim"
	eviction     = capacity + "/internal/eviction"
	victims      = capacity + "/internal/victims"
	predicates   = "pkg/plugins/predicates"
	volcano      = "volcano.sh/volcano"
	volcanosAPIs = "volcano.sh/apis"
)

var rooms = []room{
	{folder: "apis"},
	{folder: "config"},
	{folder: "pkg/client", reaches: []string{"apis"}},
	{folder: "pkg/ledger", shuns: []string{"*"}},
	{folder: "pkg/record", shuns: []string{"volcano.sh", "k8s.io/client-go"}},
	{folder: "pkg/card", shuns: []string{"volcano.sh", "k8s.io/client-go"}},
	{folder: "pkg/quota", reaches: []string{"apis", "pkg/card", "pkg/ledger"}, shuns: []string{volcano}},
	{folder: "pkg/dra", reaches: []string{"pkg/card"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/readiness", shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/allocation", reaches: []string{"pkg/card", "pkg/dra", "pkg/readiness", "pkg/record"}, shuns: []string{volcano, volcanosAPIs}},
	{folder: "pkg/demand", reaches: []string{"pkg/card", "pkg/dra", "pkg/ledger", "pkg/record"}, shuns: []string{volcano}},

	{folder: capacity, reaches: []string{
		"apis", "pkg/client", "pkg/card", "pkg/ledger", "pkg/quota", "pkg/dra", "pkg/demand", "pkg/allocation", "pkg/readiness", "pkg/record",
		report, snapshot, quotas, devices, cards, reclaim, eviction, victims, predicates,
	}},
	{folder: report, reaches: []string{"apis", "pkg/ledger", "pkg/demand", "pkg/card", "pkg/dra", "pkg/readiness", "pkg/record"},
		avoids: []string{snapshot, quotas, devices, cards, reclaim}},
	{folder: quotas, reaches: []string{report, "pkg/readiness", "apis", "pkg/client", "pkg/card", "pkg/dra", "pkg/demand", "pkg/quota", "pkg/ledger", "pkg/record"},
		avoids: []string{snapshot, devices, cards, reclaim}, shunsImports: []string{volcano}},
	{folder: snapshot, reaches: []string{report, quotas, "pkg/readiness", "apis", "pkg/client", "pkg/card", "pkg/dra", "pkg/demand", "pkg/quota", "pkg/ledger", "pkg/record"},
		avoids: []string{devices, cards, reclaim}},
	{folder: devices, reaches: []string{report, "pkg/allocation", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/readiness", "pkg/record", "apis"},
		avoids: []string{snapshot, quotas, cards, reclaim, "pkg/quota"}, shunsImports: []string{volcano}},
	{folder: cards, reaches: []string{report, "pkg/card", "pkg/demand", "pkg/dra", "pkg/ledger", "pkg/readiness", "pkg/record", "apis"},
		avoids: []string{snapshot, quotas, devices, reclaim, "pkg/allocation"}},
	{folder: reclaim, reaches: []string{"pkg/demand", "pkg/card", "pkg/dra", "pkg/ledger", "pkg/record"},
		avoids: []string{report, snapshot, quotas, devices, cards}, shuns: []string{volcano}},
	{folder: eviction, reaches: []string{snapshot, victims, "apis", "pkg/client", "pkg/readiness", "pkg/card", "pkg/dra", "pkg/demand", "pkg/ledger", "pkg/quota", "pkg/record", report, quotas},
		avoids: []string{devices, cards, reclaim}},
	{folder: victims, shuns: []string{"*"}},
	{folder: predicates},
	{folder: "pkg/plugins/crossquota"},

	{folder: "cmd", reaches: []string{"*"}},
	{folder: "hack"},
	{folder: "test/cluster", reaches: []string{"config"}, shuns: []string{volcano, "k8s.io/kubernetes"}},
	{folder: "test/e2e", reaches: []string{"*"}},
	{folder: "test/upstream"},
	{folder: "test/benchmark", reaches: []string{"apis", "config", "pkg/plugins"}},
}
