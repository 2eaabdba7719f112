// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// again returns a fixture for the next session of the same plugin.
func (f *fixture) again(args ...any) *fixture {
	next := newFixture(f.args)
	next.cache = f.cache
	if args != nil {
		next.args = gpuArgs(args...)
	}
	return next
}

func TestAnEventOnANodeIsWrittenOncePerChange(t *testing.T) {
	first := newFixture(gpuArgs()).node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").node("plain", "cpu=8", "volcano.sh/crossquota-cpu", "lots").open(t)
	const lots = `Node gpu: InvalidCrossQuota: Node <gpu>: annotation volcano.sh/crossquota-cpu is "lots": it is not a quantity such as 32, 500m or 64Gi; the next source in the order of precedence applies until it is corrected`
	if got := first.events(); !slices.Equal(got, []string{lots}) {
		t.Errorf("events are %q", got)
	}
	expectEvents := func(step, want string, next *fixture) {
		t.Helper()
		if got := strings.Join(next.events(), " "); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: events are %q, want %q", step, got, want)
		}
	}
	expectEvents("unchanged", "", first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").open(t))
	expectEvents("another change of the node", "", first.again().node("gpu", eightCores+" memory=64Gi", "volcano.sh/crossquota-cpu", "lots").open(t))
	expectEvents("another configuration", "", first.again("quota.cpu", 4).node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").open(t))
	expectEvents("another wrong value", `is "much"`, first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "much").open(t))
	expectEvents("corrected", "", first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "2").open(t))
	expectEvents("wrong again", `is "much"`, first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "much").open(t))
}

func TestAnEventOnAPodIsWrittenOncePerChange(t *testing.T) {
	var first *fixture
	session := func(strategy, requests string) []string {
		f := newFixture(gpuArgs())
		if first != nil {
			f = first.again()
		}
		first = f
		pod := newPod("new", "", requests)
		pod.Annotations[strategyAnnotation] = strategy
		f.node("gpu", eightCores).job("job", 0, pod).open(t).allocate().close()
		return f.events()
	}
	const best = `Pod new: UnknownScoringStrategy: Annotation volcano.sh/crossquota-scoring-strategy is "best", which is not a strategy, so the default applies: set it to most-allocated or least-allocated`
	for i, c := range []struct {
		strategy, requests, want string
	}{
		{"best", "cpu=9", best}, {"best", "cpu=9", ""}, {"worst", "cpu=9", strings.ReplaceAll(best, "best", "worst")}, {"most-allocated", "cpu=9", ""},
		{"best", "cpu=9 nvidia.com/gpu=1", ""},
	} {
		if got := strings.Join(session(c.strategy, c.requests), " "); got != c.want {
			t.Errorf("in session %d events are %q, want %q", i, got, c.want)
		}
	}
	first.again().node("gpu", eightCores).open(t).close()
	if n := len(first.cache.reported) + len(first.cache.pods); n != 0 {
		t.Errorf("%d entries are kept for pods that are gone", n)
	}
}

func TestFactsFollowTheNodes(t *testing.T) {
	f := newFixture(gpuArgs()).node("gpu", eightCores).node("plain", "cpu=8").open(t)
	facts := f.cache.nodes["gpu"]
	if f.cache.node(f.session.Nodes["gpu"].Node) != facts {
		t.Error("the node is read again although it has not changed")
	}
	changed := f.again().node("gpu", eightCores, "volcano.sh/crossquota-percentage-cpu", "50").open(t)
	if got := changed.opened.accounts["gpu"].facts.quotas[0]; got != 4000 {
		t.Errorf("the quota is %d after the node was annotated, want 4000", got)
	}
	if f.cache.nodes["plain"] != nil {
		t.Error("the facts of a deleted node are kept")
	}
	configured := f.again("quota.cpu", 2).node("gpu", eightCores).open(t)
	if got := configured.opened.accounts["gpu"].facts.quotas[0]; got != 2000 {
		t.Errorf("the quota is %d after the configuration has changed, want 2000", got)
	}
	plain := f.again("quota.cpu", 2).node("gpu", "cpu=8").open(t)
	if len(plain.opened.accounts) != 0 {
		t.Error("a node without GPU is a GPU node")
	}
}

func TestMetrics(t *testing.T) {
	expect := func(step, quota, used string) {
		t.Helper()
		registry := prometheus.NewRegistry()
		registry.MustRegister(quotaMetric, usedMetric)
		var want string
		for name, samples := range map[string]string{"quota": quota, "used": used} {
			if samples == "" {
				continue
			}
			help := map[string]string{"quota": "may take", "used": "hold"}[name]
			want += "# HELP volcano_crossquota_" + name + " What pods without GPU " + help + " of a GPU node, in cores, bytes or pieces\n" +
				"# TYPE volcano_crossquota_" + name + " gauge\n"
			for sample := range strings.SplitSeq(samples, "; ") {
				want += "volcano_crossquota_" + name + sample + "\n"
			}
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("%s: promlint: %v, %v", step, problems, err)
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "volcano_crossquota_quota", "volcano_crossquota_used"); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	quotaMetric.Reset()
	usedMetric.Reset()
	f := newFixture(gpuArgs(argQuotaResources, "cpu,memory", "quota.cpu", "2500m")).node("m1", eightCores).node("m2", "cpu=8")
	f.outside(newPod("existing", "m1", "cpu=500m memory=1Gi")).job("job", 0, newPod("new", "", "cpu=2")).open(t)
	expect("at the beginning", `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 3.4359738368e+10`, `{node="m1",resource="cpu"} 0.5; {node="m1",resource="memory"} 1.073741824e+09`)
	if err := f.session.Allocate(f.task("new"), f.session.Nodes["m1"]); err != nil {
		t.Fatal(err)
	}
	f.close()
	expect("at the end", `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 3.4359738368e+10`, `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 1.073741824e+09`)
	f.again(argQuotaResources, "memory").node("m1", eightCores).node("m3", "memory=1Gi nvidia.com/gpu=1").open(t)
	expect("with other resources", `{node="m1",resource="memory"} 3.4359738368e+10; {node="m3",resource="memory"} 1.073741824e+09`, `{node="m1",resource="memory"} 0; {node="m3",resource="memory"} 0`)
	f.again(argQuotaResources, "memory").node("m1", "memory=1Gi").node("m3", "memory=1Gi nvidia.com/gpu=1").open(t)
	expect("without the GPU", `{node="m3",resource="memory"} 1.073741824e+09`, `{node="m3",resource="memory"} 0`)
	f.again(argQuotaResources, "memory").node("m1", "memory=1Gi").open(t)
	expect("without the node", "", "")
}
