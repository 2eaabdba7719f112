// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// eventLog keeps the reasons of events by object. It is the recorder of the scheduler and of the plugin.
type eventLog struct {
	mu      sync.Mutex
	reasons map[string][]string
}

func (l *eventLog) Event(object runtime.Object, _, reason, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := ""
	if reference, ok := object.(*corev1.ObjectReference); ok {
		name = reference.Name
	} else if accessor, err := meta.Accessor(object); err == nil {
		name = accessor.GetName()
	}
	l.reasons[name] = append(l.reasons[name], reason)
}

func (l *eventLog) Eventf(object runtime.Object, kind, reason, message string, _ ...any) {
	l.Event(object, kind, reason, message)
}

func (l *eventLog) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, message string, _ ...any) {
	l.Event(object, kind, reason, message)
}

// scheduler returns Volcano's cache with the objects of the fixture, and the API server, which no informer reads.
func (s *fixture) scheduler(t *testing.T, events *eventLog) *schedulercache.SchedulerCache {
	t.Helper()
	scheduler := schedulercache.NewCustomMockSchedulerCache("utmock-scheduler", util.NewFakeBinder(0), util.NewFakeEvictor(0), &util.FakeStatusUpdater{}, nil, events)
	scheduler.Run(t.Context().Done())
	for _, node := range s.Nodes {
		if err := scheduler.AddOrUpdateNode(node); err != nil {
			t.Fatal(err)
		}
	}
	for _, queue := range s.Queues {
		scheduler.AddQueueV1beta1(queue)
	}
	for _, group := range s.PodGroups {
		group.UID = types.UID(group.Name)
		if _, err := scheduler.VCClient().SchedulingV1beta1().PodGroups("ns").Create(t.Context(), group.DeepCopy(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		scheduler.AddPodGroupV1beta1(group)
	}
	for _, pod := range s.Pods {
		scheduler.AddPod(pod)
	}
	return scheduler
}

// TestARefusedJobHasOneEvent: Volcano writes one on the PodGroup in each cycle, and one on each pod.
func TestARefusedJobHasOneEvent(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(1))
	a, b := newPod("a", "", cpu(1)), newPod("b", "", cpu(1))
	s.job("large", "q", pending, cpu(2), a, b)
	events := &eventLog{reasons: map[string][]string{}}
	scheduler := s.scheduler(t, events)
	t.Cleanup(framework.CleanupPluginBuilders)
	for cycle := range 10 {
		tiers := s.tiers()
		uthelper.RegisterPlugins(s.Plugins)
		ssn := framework.OpenSession(scheduler, tiers, nil)
		pluginOf(ssn).cache.report.Recorder = events
		conf.EnabledActionMap = map[string]bool{}
		for _, action := range []framework.Action{enqueue.New(), allocate.New()} {
			conf.EnabledActionMap[action.Name()] = true
			action.Execute(ssn)
		}
		framework.CloseSession(ssn)
		if waiting := unscheduledJobs(t); waiting != 1 {
			t.Errorf("cycle %d: Volcano's metric says that %v jobs wait, want 1", cycle, waiting)
		}
	}
	for _, object := range []string{"large", "a", "b"} {
		if got := events.reasons[object]; !slices.Equal(got, []string{"InsufficientCPUQuota"}) {
			t.Errorf("events on %s: %v, want one", object, got)
		}
	}
	const why = "Queue <q> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <1>"
	want := "Pending Waiting: " + why + "; Unschedulable: 2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable. Origin reason is: " + why + ";"
	got := ""
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		group, err := scheduler.VCClient().SchedulingV1beta1().PodGroups("ns").Get(ctx, "large", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		got = sayings(group)
		return got == want, nil
	})
	if err != nil {
		t.Errorf("the PodGroup says\n%s, want\n%s", got, want)
	}
}

func sayings(group *schedulingv1beta1.PodGroup) string {
	said := []string{string(group.Status.Phase)}
	for _, c := range group.Status.Conditions {
		said = append(said, fmt.Sprintf("%s: %s;", c.Type, c.Message))
	}
	return strings.Join(said, " ")
}

// unscheduledJobs returns the last count of Volcano's plugin gang.
func unscheduledJobs(t *testing.T) float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "volcano_unschedule_job_count" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric volcano_unschedule_job_count")
	return 0
}
