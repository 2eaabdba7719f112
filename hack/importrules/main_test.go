// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestCheck(t *testing.T) {
	of := func(folder string, deps ...string) listed { return listed{path: module + "/" + folder, deps: deps} }
	ours := func(folder string) string { return module + "/" + folder }
	for _, c := range []struct {
		name string
		pkg  listed
		want []string
	}{
		{"every room may use the standard library", of("pkg/ledger", "math/big", "vendor/golang.org/x/net"), nil},
		{"the ledger depends on nothing else", of("pkg/ledger", "k8s.io/klog/v2"), []string{ours("pkg/ledger") + " must not depend on k8s.io/klog/v2"}},
		{"nor on this module", of("pkg/ledger", ours("pkg/dra")), []string{ours("pkg/ledger") + " must not depend on " + ours("pkg/dra")}},
		{"a room reaches what it lists", of("pkg/quota", ours("pkg/ledger"), ours("apis/scheduling/v1beta1")), nil},
		{"a room reaches its own packages", of("pkg/client/listers/v1beta1", ours("pkg/client/scheme")), nil},
		{"a common prefix does not make a folder", of("pkg/quota", ours("pkg/ledgers")), []string{ours("pkg/quota") + " must not depend on " + ours("pkg/ledgers")}},
		{"no package depends on cmd", of("test/e2e", ours("cmd/devcluster")), []string{ours("test/e2e") + " must not depend on " + ours("cmd/devcluster")}},
		{"the control plane depends on no product", of("test/cluster", ours("config"), ours("pkg/ledger")), []string{ours("test/cluster") + " must not depend on " + ours("pkg/ledger")}},
		{"every package has a room", of("pkg/attic"), []string{ours("pkg/attic") + " is in no room: add it to hack/importrules"}},
		{"no package is named after nothing", of("pkg/quota/util"), []string{ours("pkg/quota/util") + ": a package named util owns nothing: name it by what it is about"}},
		{"the face reaches the rooms inside it", of(capacity, ours(snapshot), ours(devices), ours(predicates)), nil},
		{"an inner room does not reach the face", of(devices, ours(capacity)), []string{ours(devices) + " must not depend on " + ours(capacity)}},
		{"an inner room does not reach its neighbours", of(cards, ours(report), ours(devices)), []string{ours(cards) + " must not depend on " + ours(devices)}},
		{"a package below an inner room belongs to it", of(devices+"/picks", ours(devices), ours(snapshot)), []string{ours(devices+"/picks") + " must not depend on " + ours(snapshot)}},
		{"a room may depend on what it must not import", listed{path: ours(devices), imports: []string{ours(report)}, deps: []string{ours(report), volcano + "/pkg/scheduler/api"}}, nil},
		{"but it must not import it", listed{path: ours(devices), imports: []string{volcano + "/pkg/scheduler/api"}, deps: []string{volcano + "/pkg/scheduler/api"}},
			[]string{ours(devices) + " must not import " + volcano + "/pkg/scheduler/api"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := check([]listed{c.pkg}); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMayReach(t *testing.T) {
	outer, inner := room{folder: "test/e2e", reaches: []string{"pkg"}, avoids: []string{"pkg/dra"}}, room{folder: capacity}
	for _, c := range []struct {
		name   string
		room   room
		folder string
		want   bool
	}{
		{"a folder below one that is listed", outer, "pkg/plugins/capacity/internal/report", true},
		{"a folder that is listed and avoided", outer, "pkg/dra", false},
		{"a folder below one that is avoided", outer, "pkg/dra/sub", false},
		{"a room inside that is not listed", inner, report, false},
		{"a folder inside that is no room", inner, capacity + "/testing", true},
	} {
		if got := c.room.mayReach(module + "/" + c.folder); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestRules checks the table itself: a folder stands for one room, and a room does not both reach and avoid
// a folder.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rooms {
		if seen[r.folder] {
			t.Errorf("%s is listed twice", r.folder)
		}
		seen[r.folder] = true
		for _, reached := range r.reaches {
			if slices.Contains(r.avoids, reached) {
				t.Errorf("%s both reaches and avoids %s", r.folder, reached)
			}
		}
	}
}
