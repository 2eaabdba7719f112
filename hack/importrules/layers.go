// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// layer has rooms that may import the rooms of all earlier layers, but not each other. A room is a folder with its subfolders, except
// subfolders that are rooms. The packages of a room may import each other. A folder "internal" is not part of its room, because its packages
// import rooms.
type layer struct {
	of    string
	rooms string
}

// layers starts with rooms that import nothing of this module. If a room needs another room of its layer, move one of them to another layer,
// or add a layer. Rules that several programs share belong in the first layers.
var layers = []layer{
	{"shared", "apis/accounting/v1alpha1 apis/scheduling/v1beta1 apis/visibility/v1alpha1 config pkg/allocation/allocationtest pkg/card pkg/lease " +
		"pkg/conflict pkg/ledger pkg/metric pkg/readiness pkg/chargerecord pkg/spent pkg/version pkg/victims pkg/visibility/ui"},
	{"shared", "pkg/accounting pkg/client pkg/clusterstate pkg/dra pkg/program pkg/queueusage pkg/quota pkg/simulation/internal/apiserver pkg/visibility " +
		"pkg/visibility/client pkg/webhook/certificates"},
	{"shared", "pkg/accounting/store pkg/allocation pkg/demand pkg/queueschema pkg/refusals pkg/settings pkg/visibility/server"},
	{"shared", "pkg/accounting/metrics pkg/dispatcher/workload pkg/problems"},

	{"scheduler", "pkg/plugins/capacity/internal/reclaim pkg/plugins/capacity/internal/report pkg/plugins/capacity/internal/joint pkg/plugins/capacity/internal/ranking pkg/plugins/nodeorder pkg/plugins/predicates"},
	{"scheduler", "pkg/plugins/capacity/internal/hypernodes pkg/plugins/capacity/internal/lastvalid pkg/scheduler/internal/clones"},
	{"scheduler", "pkg/plugins/capacity/internal/cards pkg/plugins/capacity/internal/devices pkg/plugins/capacity/internal/snapshot"},
	{"scheduler", "pkg/plugins/capacity/internal/describe pkg/plugins/capacity/internal/eviction pkg/plugins/capacity/internal/extended " +
		"pkg/plugins/capacity/internal/usage"},
	{"scheduler", "pkg/plugins/capacity/internal/checks"},
	{"scheduler", "pkg/plugins/capacity/internal/placement"},
	{"scheduler", "pkg/plugins/capacity/internal/nomination"},
	{"scheduler", "pkg/plugins/capacity/internal/allocate"},
	{"scheduler", "pkg/plugins/capacity/internal/elastic"},
	{"scheduler", "pkg/plugins/capacity/internal/explain"},
	{"scheduler", "pkg/plugins/capacity pkg/plugins/crossquota pkg/scheduler"},
	{"simulation", "pkg/simulation"},

	{"dispatcher", "pkg/dispatcher/binding"},
	{"dispatcher", "pkg/dispatcher/framework"},
	{"dispatcher", "pkg/dispatcher/internal/admission pkg/dispatcher/internal/members pkg/dispatcher/internal/needs pkg/dispatcher/internal/report " +
		"pkg/dispatcher/internal/spread"},
	{"dispatcher", "pkg/dispatcher/internal/cache pkg/dispatcher/plugins"},
	{"dispatcher", "pkg/dispatcher"},

	{"lint and webhook", "pkg/lint pkg/webhook"},
	{"kubectl", "pkg/cli"},
	{"kubectl", "pkg/cli/simulate"},

	{"tests", "test/cluster test/page"},
	{"programs and tests", "cmd/demo cmd/devcluster cmd/kubectl-devicequota cmd/vc-dispatcher cmd/vc-scheduler cmd/vc-webhook hack/boilerplate " +
		"hack/importrules hack/linkcheck hack/monitoring hack/reference test/benchmark test/chart test/e2e test/load test/monitoring test/multicluster test/upstream"},
}

// wall keeps packages of other modules, with their subfolders, out of rooms. The rooms must not depend on them, directly or indirectly. These
// packages are then neither linked into programs nor compiled for tests. A * stands for all packages outside the standard library.
type wall struct {
	// folder/... stands for all rooms in a folder.
	shuns, rooms string
	// directly allows the rooms to depend on the packages, but not to import them.
	directly bool
}

var walls = []wall{
	{shuns: "*", rooms: "config pkg/accounting pkg/ledger pkg/victims pkg/visibility/ui"},
	{shuns: "volcano.sh", rooms: "apis/accounting/... apis/visibility/... hack/monitoring pkg/accounting/... pkg/allocation/... pkg/card pkg/clusterstate pkg/conflict pkg/dra " +
		"pkg/lease pkg/metric pkg/program pkg/readiness pkg/chargerecord pkg/settings pkg/spent pkg/version pkg/visibility/... pkg/webhook/certificates"},
	{shuns: "volcano.sh/volcano", rooms: "apis/... pkg/cli pkg/client pkg/demand pkg/dispatcher/... pkg/lint pkg/problems pkg/plugins/capacity/internal/reclaim " +
		"pkg/queueusage pkg/quota pkg/refusals pkg/simulation/internal/apiserver pkg/webhook test/cluster"},
	{shuns: "volcano.sh/volcano", rooms: "pkg/plugins/capacity/internal/devices pkg/plugins/capacity/internal/lastvalid", directly: true},
	{shuns: "k8s.io", rooms: "pkg/metric pkg/version"},
	{shuns: "k8s.io/client-go", rooms: "pkg/card pkg/queueusage pkg/chargerecord"},
	{shuns: "k8s.io/client-go", rooms: "pkg/lint", directly: true},
	{shuns: "k8s.io/kubernetes", rooms: "test/cluster"},
	// It takes what was not written in time for written. pkg/conflict does not.
	{shuns: "k8s.io/client-go/util/retry", rooms: "pkg/accounting/... pkg/allocation/... pkg/cli/... pkg/dispatcher/... pkg/plugins/... pkg/scheduler/... pkg/webhook/...", directly: true},
}

// around reports whether the wall surrounds a room.
func (w wall) around(room string) bool {
	return slices.ContainsFunc(strings.Fields(w.rooms), func(pattern string) bool {
		folder, all := strings.CutSuffix(pattern, "/...")
		return room == folder || all && within(room, folder)
	})
}

// reached returns the imports or dependencies of a package to which the wall applies.
func (w wall) reached(p listed) []string {
	if w.directly {
		return p.imports
	}
	return p.deps
}
