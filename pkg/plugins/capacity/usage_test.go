// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/usage"
	"github.com/devicequota/devicequota/pkg/settings"
)

var accountBegins = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// accounted is a fixture whose sessions are observed at times that tests set. It returns the account of the observations.
func accounted(s *fixture) (*testingclock.FakeClock, *accounting.Account) {
	clock, account := testingclock.NewFakeClock(accountBegins), accounting.New(accounting.Period(24*time.Hour))
	if s.cache == nil {
		s.cache = newTestCache()
	}
	account.Resume(accountBegins)
	s.cache.clock, s.cache.usage = clock, usage.NewRecorder(clock)
	s.cache.usage.Record(account, &settings.Accounting{Label: "example.com/project", Resources: []string{"cpu"}})
	return clock, account
}

// since sets the time when a pod got its node.
func since(pod *corev1.Pod, seconds int) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(accountBegins.Add(time.Duration(seconds) * time.Second)),
	}}
	return pod
}

// counted returns what an account has cut.
func counted(a *accounting.Account) []string {
	var lines []string
	for increment := a.Cut(accounting.Lag); increment != nil; increment = a.Cut(accounting.Lag) {
		for series, amount := range increment.Added {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %q %s", series.Queue, series.Measure, series.Dimension, series.Namespace, series.Label, amount))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestSessionsTellTheAccountWhoHoldsWhatSinceWhen(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("team", "ml", nil).queue("idle", "ml", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{
		"ml": {Capability: counts(4)}, "team": {Capability: counts(2)}, "idle": {Guarantee: counts(1)},
	})
	clock, account := accounted(s)
	holder := since(newPod("holder", "n1", cpu(1)), 30)
	holder.Labels = map[string]string{"example.com/project": "llm"}
	s.job("holder", "team", running, nil, s.claimed(2, holder))
	s.job("late", "team", inqueue, nil, s.claimed(1, newPod("late", "", cpu(2))))
	s.job("binding", "team", running, nil, newPod("binding", "n1", cpu(4)))
	p := pluginOf(s.open(t))
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	clock.Step(100*time.Second + accounting.Lag)
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	want := []string{
		`idle guaranteedIdle h100  "" 100`,
		`team used cpu ns "llm" 70`,
		`team used h100 ns "llm" 140`,
		`team waited cpu  "" 200`,
		`team waited h100  "" 100`,
	}
	if diff := cmp.Diff(want, counted(account)); diff != "" {
		t.Error(diff)
	}
}

func TestASessionThatMayLackHoldersSaysNothing(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("team", "root", nil)
	clock, account := accounted(s)
	s.job("holder", "team", running, nil, since(newPod("holder", "n1", cpu(1)), 0))
	p := pluginOf(s.open(t))
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	clock.Step(50 * time.Second)
	p.checks.CardsNotReady = p.notRead("pods")
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	if lines := counted(account); lines != nil {
		t.Errorf("the account counts %s", lines)
	}
}

// session opens and closes another session of the same scheduler.
func (s *fixture) session(t *testing.T) {
	t.Helper()
	framework.CloseSession(s.open(t))
}

func TestAPodThatRunsForSecondsCountsExactly(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("team", "root", nil)
	clock, account := accounted(s)
	old, brief := since(newPod("old", "n1", cpu(1)), 0), since(newPod("brief", "n1", cpu(2)), 2)
	s.job("old", "team", running, nil, old)
	s.session(t)
	clock.Step(3 * time.Second)
	s.job("brief", "team", running, nil, brief)
	s.session(t)
	clock.Step(2 * time.Second)
	s.cache.usage.PodDeleted(brief)
	s.Pods, s.PodGroups = s.Pods[:1], s.PodGroups[:1]
	s.session(t)
	clock.Step(15 * time.Second)
	s.session(t)
	want := []string{`team used cpu ns "" 16`} // 10 of one pod, and 3 of the other, which has 2
	if diff := cmp.Diff(want, counted(account)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatEndsDuringASessionEndsThen(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("team", "root", nil)
	clock, account := accounted(s)
	pod := since(newPod("holder", "n1", cpu(1)), 0)
	s.job("holder", "team", running, nil, pod)
	ssn := s.open(t)
	clock.Step(4 * time.Second)
	s.cache.usage.PodDeleted(pod)
	clock.Step(time.Second)
	framework.CloseSession(ssn) // it has the pod, because its snapshot was taken before
	clock.Step(time.Second)
	s.Pods, s.PodGroups = nil, nil
	s.session(t)
	clock.Step(20 * time.Second)
	s.session(t)
	if diff := cmp.Diff([]string{`team used cpu ns "" 4`}, counted(account)); diff != "" {
		t.Error(diff)
	}
}

// manyHolders is a session in which each of many pods has a device.
func manyHolders(t testing.TB, pods int) (*fixture, *testingclock.FakeClock) {
	s := newFixture(pods).queue("root", "", nil).queue("team", "root", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"team": {Capability: counts(int64(pods))}})
	clock, _ := accounted(s)
	var all []*corev1.Pod
	for i := range pods {
		all = append(all, s.claimed(1, since(newPod(fmt.Sprint("holder-", i), "n1", cpu(1)), 0)))
	}
	s.job("holders", "team", running, nil, all...)
	return s, clock
}

// nextSession returns an unchanged session after one that has observed everything.
func (s *fixture) nextSession(t testing.TB) *plugin {
	ssn := s.open(t)
	p := pluginOf(ssn)
	p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
	(&plugin{cache: s.cache, arguments: readArguments(Name, s.arguments)}).OnSessionOpen(ssn)
	return s.cache.opened
}

func TestASessionInWhichNothingChangedObservesNobody(t *testing.T) {
	const pods = 100
	s, clock := manyHolders(t, pods)
	p := s.nextSession(t)
	p.snapshot.EachChangedHolding(p.placements.Promised, func(h *snapshot.Holding) { t.Errorf("%s is observed", h.Holder) })
	clock.Step(time.Second)
	if objects := testing.AllocsPerRun(10, func() { p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil) }); objects > 10 {
		t.Errorf("a session in which nothing has changed allocates %v objects for the record of usage", objects)
	}
}

// BenchmarkObserve measures the record of usage in an unchanged session, and in one that observes everything.
func BenchmarkObserve(b *testing.B) {
	const pods = 2000
	s, clock := manyHolders(b, pods)
	p := s.nextSession(b)
	for _, c := range []struct {
		name string
		step time.Duration
	}{{"changes", 0}, {"everything", accounting.Lag}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				clock.Step(c.step)
				p.usage.Observe(p.snapshot, p.placements.Promised, p.checks.NotReady() != nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/pod")
		})
	}
}
