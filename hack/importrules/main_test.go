package main

import (
	"slices"
	"testing"
)

func TestCheck(t *testing.T) {
	of := func(folder string, deps ...string) listed { return listed{path: module + "/" + folder, deps: deps} }
	for _, c := range []struct {
		name string
		pkg  listed
		want []string
	}{
		{"the standard library is for everybody", of("pkg/ledger", "math/big", "vendor/golang.org/x/net"), nil},
		{"the ledger imports nothing else", of("pkg/ledger", "k8s.io/klog/v2"), []string{module + "/pkg/ledger must not depend on k8s.io/klog/v2"}},
		{"not even from this module", of("pkg/ledger", module+"/pkg/dra"), []string{module + "/pkg/ledger must not depend on " + module + "/pkg/dra"}},
		{"a room reaches what it lists", of("pkg/quota", module+"/pkg/ledger", module+"/apis/scheduling/v1beta1"), nil},
		{"a room reaches its own packages", of("pkg/client/listers/v1beta1", module+"/pkg/client/scheme"), nil},
		{"names that only begin alike are different", of("pkg/quota", module+"/pkg/ledgers"), []string{module + "/pkg/quota must not depend on " + module + "/pkg/ledgers"}},
		{"nobody imports cmd", of("test/e2e", module+"/cmd/devcluster"), []string{module + "/test/e2e must not depend on " + module + "/cmd/devcluster"}},
		{"the control plane knows no product", of("test/cluster", module+"/config", module+"/pkg/ledger"), []string{module + "/test/cluster must not depend on " + module + "/pkg/ledger"}},
		{"every package has a room", of("pkg/attic"), []string{module + "/pkg/attic stands in no room: add it to hack/importrules"}},
		{"no package is about nothing", of("pkg/quota/util"), []string{module + "/pkg/quota/util: a package named util owns nothing: name it by what it is about"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := check([]listed{c.pkg}); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
