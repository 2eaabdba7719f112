package crossquota

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// again is the same cluster, one session later, for the same plugin.
func (s *scene) again(args ...any) *scene {
	next := newScene(s.args)
	next.process = s.process
	if args != nil {
		next.args = gpuArgs(args...)
	}
	return next
}

func TestANodeIsToldOncePerChange(t *testing.T) {
	first := newScene(gpuArgs()).node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").node("plain", "cpu=8", "volcano.sh/crossquota-cpu", "lots").open(t)
	const lots = `Node gpu: InvalidCrossQuota: Node <gpu>: annotation volcano.sh/crossquota-cpu is "lots": it is no quantity such as 32, 500m or 64Gi; the next in the order of precedence counts, until it is corrected`
	if got := first.taken(); !slices.Equal(got, []string{lots}) {
		t.Errorf("events are %q", got)
	}
	told := func(step, want string, next *scene) {
		t.Helper()
		if got := strings.Join(next.taken(), " "); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: events are %q, want %q", step, got, want)
		}
	}
	told("unchanged", "", first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").open(t))
	told("another change of the node", "", first.again().node("gpu", eightCores+" memory=64Gi", "volcano.sh/crossquota-cpu", "lots").open(t))
	told("another configuration", "", first.again("quota.cpu", 4).node("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots").open(t))
	told("another wrong value", `is "much"`, first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "much").open(t))
	told("corrected", "", first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "2").open(t))
	told("wrong again", `is "much"`, first.again().node("gpu", eightCores, "volcano.sh/crossquota-cpu", "much").open(t))
}

func TestAPodIsToldOncePerChange(t *testing.T) {
	var first *scene
	session := func(strategy, requests string) []string {
		s := newScene(gpuArgs())
		if first != nil {
			s = first.again()
		}
		first = s
		pod := newPod("new", "", requests)
		pod.Annotations[strategyAnnotation] = strategy
		s.node("gpu", eightCores).job("job", 0, pod).open(t).allocate().close()
		return s.taken()
	}
	const best = `Pod new: UnknownScoringStrategy: Annotation volcano.sh/crossquota-scoring-strategy is "best", which is no strategy, so the default counts: make it most-allocated or least-allocated`
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
	if n := len(first.process.told) + len(first.process.pods); n != 0 {
		t.Errorf("%d entries are kept of pods that are gone", n)
	}
}

func TestWhatIsRememberedFollowsTheNodes(t *testing.T) {
	s := newScene(gpuArgs()).node("gpu", eightCores).node("plain", "cpu=8").open(t)
	facts := s.process.nodes["gpu"]
	if s.process.node(s.session.Nodes["gpu"].Node) != facts {
		t.Error("the node is looked at again although it has not changed")
	}
	changed := s.again().node("gpu", eightCores, "volcano.sh/crossquota-percentage-cpu", "50").open(t)
	if got := changed.opened.accounts["gpu"].facts.quotas[0]; got != 4000 {
		t.Errorf("the quota is %d after the node was annotated, want 4000", got)
	}
	if s.process.nodes["plain"] != nil {
		t.Error("a node that is gone is remembered")
	}
	configured := s.again("quota.cpu", 2).node("gpu", eightCores).open(t)
	if got := configured.opened.accounts["gpu"].facts.quotas[0]; got != 2000 {
		t.Errorf("the quota is %d after the configuration has changed, want 2000", got)
	}
	plain := s.again("quota.cpu", 2).node("gpu", "cpu=8").open(t)
	if len(plain.opened.accounts) != 0 {
		t.Error("a node that has no GPU any more is a GPU node")
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
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "volcano_crossquota_quota", "volcano_crossquota_used"); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	quotaMetric.Reset()
	usedMetric.Reset()
	s := newScene(gpuArgs(argQuotaResources, "cpu,memory", "quota.cpu", "2500m")).node("m1", eightCores).node("m2", "cpu=8")
	s.outside(newPod("held", "m1", "cpu=500m memory=1Gi")).job("job", 0, newPod("new", "", "cpu=2")).open(t)
	expect("at the beginning", `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 3.4359738368e+10`, `{node="m1",resource="cpu"} 0.5; {node="m1",resource="memory"} 1.073741824e+09`)
	if err := s.session.Allocate(s.task("new"), s.session.Nodes["m1"]); err != nil {
		t.Fatal(err)
	}
	s.close()
	expect("at the end", `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 3.4359738368e+10`, `{node="m1",resource="cpu"} 2.5; {node="m1",resource="memory"} 1.073741824e+09`)
	s.again(argQuotaResources, "memory").node("m1", eightCores).node("m3", "memory=1Gi nvidia.com/gpu=1").open(t)
	expect("with other resources", `{node="m1",resource="memory"} 3.4359738368e+10; {node="m3",resource="memory"} 1.073741824e+09`, `{node="m1",resource="memory"} 0; {node="m3",resource="memory"} 0`)
	s.again(argQuotaResources, "memory").node("m1", "memory=1Gi").node("m3", "memory=1Gi nvidia.com/gpu=1").open(t)
	expect("without the GPU", `{node="m3",resource="memory"} 1.073741824e+09`, `{node="m3",resource="memory"} 0`)
	s.again(argQuotaResources, "memory").node("m1", "memory=1Gi").open(t)
	expect("without the node", "", "")
}
