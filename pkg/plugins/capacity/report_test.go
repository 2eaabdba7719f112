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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/uthelper"

	"github.com/devicequota/devicequota/pkg/refusals"
)

// TestWhyItWaits checks the wording for users in both places where a job can be stopped.
func TestWhyItWaits(t *testing.T) {
	memory := func(gib int) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(int64(gib)<<30, resource.BinarySI)}
	}
	for _, c := range []struct {
		name                string
		limit, held, wanted corev1.ResourceList
		reason, message     string
	}{
		{"cpu", cpu(4), cpu(3), cpu(2), refusals.InsufficientCPUQuotaReason, "Queue <ml> has insufficient <cpu> quota: requested <2>, total would be <5>, but capability is <4>"},
		{"memory", memory(4), memory(3), memory(2), refusals.InsufficientMemoryQuotaReason, "Queue <ml> has insufficient <memory> quota: requested <2GiB>, total would be <5GiB>, but capability is <4GiB>"},
		{"a scalar", gpu(4), gpu(3), gpu(2), refusals.InsufficientScalarQuotaReason, "Queue <ml> has insufficient <nvidia.com/gpu> quota: requested <2>, total would be <5>, but capability is <4>"},
		{"more than a node has", cpu(10), cpu(3), cpu(9), "NeverFits",
			"No node has as much <cpu> as a pod requests, which is <9>: the largest has <8>. Queue <root> has insufficient <cpu> quota: requested <9>, total would be <12>, but capability is <8>"},
		{"a resource that no node has", cpu(8), cpu(1), corev1.ResourceList{"example.com/fpga": resource.MustParse("1")}, refusals.InsufficientScalarQuotaReason,
			"Queue <root> has insufficient <example.com/fpga> quota: requested <1>, total would be <1>, but capability is <0>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("ml", "root", func(q *schedulingv1beta1.QueueSpec) { q.Capability = c.limit }).queue("team", "ml", nil)
			s.job("holder", "team", running, c.held, newPod("holder", "n1", c.held))
			s.job("early", "team", pending, c.wanted, newPod("early", "", c.wanted))
			s.job("late", "team", inqueue, nil, newPod("late", "", c.wanted))
			ssn := s.act(t)
			task := taskOf(ssn, "late")
			job := ssn.Jobs[task.Job]
			p := pluginOf(ssn)
			p.report()
			if got := job.NodesFitErrors[task.UID]; got == nil || !strings.Contains(got.Error(), c.message) {
				t.Errorf("the pod's condition would say %v", got)
			}
			framework.CloseSession(ssn)
			expectEvent(t, ssn.KubeClient(), "Pod", "late", c.reason, c.message)
			expectEvent(t, ssn.KubeClient(), "PodGroup", "early", c.reason, c.message)
		})
	}
}

// TestNewsAreToldOnce: a pod that waits for a day has one event, not one for each cycle.
func TestNewsAreToldOnce(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(1))
	s.job("early", "q", pending, cpu(2), newPod("early", "", cpu(2))).job("late", "q", inqueue, nil, newPod("late", "", cpu(2)))
	ssn := s.act(t)
	p := pluginOf(ssn)
	events := &eventLog{reasons: map[string][]string{}}
	p.cache.report.Recorder = events
	for range 5 {
		p.report()
	}
	if got := fmt.Sprint(events.reasons); got != "map[early:[InsufficientCPUQuota InsufficientCPUQuota] late:[InsufficientCPUQuota]]" {
		t.Errorf("the events of a PodGroup and two pods that are refused again and again are %s, want one each", got)
	}
}

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

// TestARefusedJobHasOneEvent: Volcano writes one on the PodGroup in each cycle, and one on each pod.
func TestARefusedJobHasOneEvent(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(1))
	a, b := newPod("a", "", cpu(1)), newPod("b", "", cpu(1))
	s.job("large", "q", pending, cpu(2), a, b)
	events := &eventLog{reasons: map[string][]string{}}
	scheduler := s.recorded(t, events)
	_, err := scheduler.VCClient().SchedulingV1beta1().PodGroups("ns").Create(t.Context(), s.PodGroups[0].DeepCopy(), metav1.CreateOptions{})
	must(t, err)
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
		if waiting := gauge(t, "volcano_unschedule_job_count", ""); waiting != 1 {
			t.Errorf("cycle %d: Volcano's metric says that %v jobs wait, want 1", cycle, waiting)
		}
	}
	for _, object := range []string{"large", "a", "b"} {
		if got := events.reasons[object]; !slices.Equal(got, []string{"InsufficientCPUQuota"}) {
			t.Errorf("events on %s: %v, want one", object, got)
		}
	}
	const why = "Queue <q> has insufficient <cpu> quota: requested <2>, total would be <2>, but capability is <1>; this does not fit even when the queue is empty: ask for less, or for more quota"
	want := "Pending Waiting: " + why + "; Unschedulable: 2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable. Origin reason is: " + why + ";"
	got := ""
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
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
