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

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/accounting"
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
	p.observe()
	clock.Step(100*time.Second + accounting.Lag)
	p.observe()
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
	p.observe()
	clock.Step(50 * time.Second)
	p.checks.CardsNotReady = p.notRead("pods")
	p.observe()
	if lines := counted(account); lines != nil {
		t.Errorf("the account counts %s", lines)
	}
}
