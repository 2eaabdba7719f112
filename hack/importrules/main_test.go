// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

var small = house{
	layers: []layer{{"shared", "pkg/ledger pkg/quota"}, {"scheduler", "pkg/face/internal/devices"}, {"scheduler", "pkg/face pkg/cross"}},
	walls: []wall{{shuns: "*", rooms: "pkg/ledger"}, {shuns: "volcano.sh/volcano", rooms: "pkg/quota"},
		{shuns: "volcano.sh/volcano", rooms: "pkg/face/internal/devices", directly: true}},
}

func valid() []listed {
	return []listed{
		{folder: "pkg/ledger", doc: "Package ledger counts.", deps: []string{"math/big", "vendor/golang.org/x/net"}},
		{folder: "pkg/quota", doc: "Package quota reads queues: one at a time.", imports: []string{module + "pkg/quota/tree"}, deps: []string{"k8s.io/klog/v2"}},
		{folder: "pkg/quota/tree", imports: []string{module + "pkg/quota"}},
		{folder: "pkg/face/internal/devices", doc: "Package devices picks.", imports: []string{module + "pkg/quota/tree"}, deps: []string{"volcano.sh/volcano/api"}},
		{folder: "pkg/face", doc: "Package face asks.", imports: []string{module + "pkg/ledger", module + "pkg/face/internal/devices", "volcano.sh/volcano/api"}},
		{folder: "pkg/cross", doc: "Command cross stands alone."},
	}
}

func TestCheck(t *testing.T) {
	if got := small.check(valid()); len(got) > 0 {
		t.Errorf("a valid house: %q", got)
	}
	for _, c := range []struct {
		name string
		pkg  listed
		want string
	}{
		{"a layer does not import a higher one", listed{folder: "pkg/face/internal/devices/x", imports: []string{module + "pkg/face"}}, "(layer 2) must not import pkg/face (layer 3): only lower layers"},
		{"nor a folder in a higher room", listed{folder: "pkg/quota/x", imports: []string{module + "pkg/face/sub"}}, "(layer 1) must not import pkg/face/sub (layer 3): only lower layers"},
		{"nor another room of its layer", listed{folder: "pkg/face/x", imports: []string{module + "pkg/cross"}}, "(layer 3) must not import pkg/cross (layer 3): only lower layers"},
		{"a room does not depend on what it shuns", listed{folder: "pkg/quota/x", deps: []string{"volcano.sh/volcano/api"}}, "must not reach volcano.sh/volcano/api"},
		{"which may be all but the standard library", listed{folder: "pkg/ledger/x", deps: []string{"k8s.io/klog/v2"}}, "must not reach k8s.io/klog/v2"},
		{"or that it only does not import", listed{folder: "pkg/face/internal/devices/x", imports: []string{"volcano.sh/volcano"}}, "must not reach volcano.sh/volcano"},
		{"every package is in a room", listed{folder: "pkg/attic"}, "is in no room: add it to hack/importrules/layers.go"},
		{"a common prefix does not make a folder", listed{folder: "pkg/ledgers"}, "is in no room: add it to hack/importrules/layers.go"},
		{"what is internal to a room is not in it", listed{folder: "pkg/face/internal/cards"}, "is in no room: add it to hack/importrules/layers.go"},
		{"no package is named after nothing", listed{folder: "pkg/quota/util"}, "owns nothing by its name: name it by what it is about"},
		{"a room says what it is for", listed{folder: "pkg/face"}, "has no package comment, which says what it is for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := small.check(append(valid(), c.pkg)); !slices.Equal(got, []string{c.pkg.folder + " " + c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckRooms(t *testing.T) {
	typo := small
	typo.walls = append(typo.walls, wall{shuns: "k8s.io", rooms: "pkg/ledgre"})
	want := []string{"the room pkg/cross has no package: remove it from hack/importrules/layers.go", "the wall against k8s.io names pkg/ledgre, which is no room"}
	if got := typo.check(valid()[:5]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	want := "above\n" + begin + "| layer | folder | what it does |\n| --- | --- | --- |\n" +
		"| 1 shared | `pkg/ledger` | counts |\n|  | `pkg/quota` | reads queues |\n" +
		"| 2 scheduler | `pkg/face/internal/devices` | picks |\n| 3 scheduler | `pkg/face` | asks |\n|  | `pkg/cross` | stands alone |\n" + end + "below\n"
	if got := withTable("above\n"+begin+"an old table\n"+end+"below\n", small.table(valid())); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
