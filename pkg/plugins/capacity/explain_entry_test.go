// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/explain"
)

// actOnly executes the actions enqueue and allocate, and the given actions of this plugin. The configuration has no other actions.
func (s *fixture) actOnly(t *testing.T, more ...string) *framework.Session {
	t.Helper()
	before := conf.EnabledActionMap
	t.Cleanup(func() { conf.EnabledActionMap = before })
	ssn := s.openByPriority(t)
	actions := []framework.Action{enqueue.New()}
	for _, action := range (&Plugins{cache: s.cache}).Actions() {
		if action.Name() == "allocate" || slices.Contains(more, action.Name()) {
			actions = append(actions, action)
		}
	}
	s.Run(actions)
	return ssn
}

// TestWhyNobodyIsEvictedForAJobThatIsNotLetIn: queue parent may have four devices. Queue lender holds them with pods of priority 1.
func TestWhyNobodyIsEvictedForAJobThatIsNotLetIn(t *testing.T) {
	for _, c := range []struct {
		name, actions, queue string
		asked                int
		quota                map[string]schedulingv1beta1.DRAQuota
		want                 string
	}{
		{"the configuration has no action that evicts", "", "q", 1, nil, "the scheduler's configuration has neither the action reclaim nor the action preempt"},
		{"the queue deserves nothing", "reclaim preempt", "q", 1, nil, "queue <parent> has no room for <h100>, and queue <q> deserves none of it: set what it deserves"},
		{"the queue deserves less", "reclaim", "q", 2, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}},
			"queue <parent> has no room for <h100>, and queue <q>, which would come to <2>, deserves <1> of it"},
		{"the job's own queue is full", "reclaim preempt", "lender", 1, map[string]schedulingv1beta1.DRAQuota{"parent": {Capability: counts(6)}, "lender": {Capability: counts(4)}},
			"queue <lender> itself has no room for <h100>, and reclaim takes from other queues only; no job of lower priority in the queue holds any that may be preempted"},
		{"the job's own queue is full, and nothing is preempted", "reclaim", "lender", 1, map[string]schedulingv1beta1.DRAQuota{"parent": {Capability: counts(6)}, "lender": {Capability: counts(4)}},
			"the action preempt, which takes from jobs of lower priority in the queue, is not configured"},
		{"only reclaim could help, which is not configured", "preempt", "q", 1, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(2)}},
			"queue <parent> has no room for <h100>, and the action reclaim, which takes from other queues, is not configured; no job of lower priority in the queue holds any that may be preempted"},
		{"no eviction would help", "reclaim preempt", "q", 5, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(5)}},
			"that would not help, because it needs <5> of <h100>, and queue <parent> may have <4> in all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("parent", "root", nil).queue("q", "parent", nil).stocked(8)
			s.queue("lender", "parent", reclaimable)
			quota := map[string]schedulingv1beta1.DRAQuota{"parent": {Capability: counts(4)}}
			maps.Copy(quota, c.quota)
			s.withDevices(quota)
			for i := range 4 {
				name := fmt.Sprint("low-", i)
				s.job(name, "lender", running, nil, withPriority(s.holding(i, 1, newPod(name, "n1", cpu(1))), 1))
			}
			s.job("core", "q", running, nil, withPriority(newPod("core", "n1", cpu(1)), 0)) // of lower priority, but without a device
			s.job("late", c.queue, pending, cpu(1), withPriority(s.claimed(c.asked, newPod("late", "", cpu(1))), 1))
			ssn := s.actOnly(t, strings.Fields(c.actions)...)
			for _, kind := range []string{"PodGroup", "Pod"} {
				_, _, told := s.waits(t, ssn, kind, "late")
				if told.Eviction == nil || told.Eviction.Possible || len(told.Eviction.Victims) > 0 || !strings.Contains(told.Eviction.Message, c.want) {
					t.Errorf("%s: the cause is %q, the eviction %+v, want a message with %q", kind, told.Cause.Message, told.Eviction, c.want)
				}
			}
		})
	}
}

func TestWhyNobodyIsEvictedForWhatOthersDoNotHold(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("full", "root", capped(2)).stocked(1)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"full": {Capability: counts(1)}})
	s.job("holder", "full", running, cpu(2), newPod("holder", "n1", cpu(2)))
	s.job("cores", "full", pending, cpu(1), newPod("cores", "", cpu(1)))
	s.job("wrong", "full", pending, cpu(0))
	group := s.PodGroups[len(s.PodGroups)-1]
	group.Spec.MinMember, group.Annotations = 1, map[string]string{card.RequestAnnotation: "four"}
	gated := s.claimed(1, newPod("gated", "", cpu(0)))
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}}
	s.job("gated", "full", inqueue, nil, gated)
	ssn := s.act(t)
	for name, want := range map[string]string{
		"cores": "Nobody is evicted for it: it asks for no devices and no limited cards, and waits until there is room for it",
		"wrong": "Nobody is evicted for it: the cause is nothing that others hold",
		"gated": "Nobody is evicted for it: its pods have scheduling gates, or the preemptionPolicy Never",
	} {
		told, err := s.explained(t, ssn, "PodGroup", name)
		if err != nil || told.Eviction == nil || told.Eviction.Message != want {
			t.Errorf("%s: %v, %+v, want %q", name, err, told.Eviction, want)
		}
	}
}

// TestWhoWouldGoWhenAnotherPluginLetsAJobIn: the enqueue action has not run.
func TestWhoWouldGoWhenAnotherPluginLetsAJobIn(t *testing.T) {
	before := conf.EnabledActionMap
	t.Cleanup(func() { conf.EnabledActionMap = before })
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "reclaim": true}
	s := lending()
	s.job("p", "q", pending, cpu(1), s.claimed(1, newPod("p", "", cpu(1))))
	ssn := s.open(t)
	_, _, told := s.waits(t, ssn, "PodGroup", "p")
	e := told.Eviction
	if e == nil || !e.Possible || len(e.Victims) != 1 || e.Message != "When it has been let in: <1> pods would be evicted, so that <1> pods of the job can start" {
		t.Errorf("the eviction would be %+v", e)
	}
	expectStatuses(t, ssn, "low-0:Running low-1:Running low-2:Running low-3:Running p:Pending")
}

func TestThoseWhoBorrowAreNamedFirst(t *testing.T) {
	s := besideLender(4, map[string]schedulingv1beta1.DRAQuota{"q": {Deserved: counts(1)}, "lender": {Deserved: counts(2)}})
	s.job("own", "q", running, nil, s.holding(0, 1, newPod("own", "n1", cpu(1))))
	for i := range 3 {
		name := fmt.Sprint("low-", i)
		s.job(name, "lender", running, nil, s.holding(i+1, 1, newPod(name, "n1", cpu(1))))
	}
	s.job("p", "q", inqueue, nil, s.claimed(1, newPod("p", "", cpu(1))))
	ssn := s.open(t)
	_, _, told := s.waits(t, ssn, "PodGroup", "p")
	var names []string
	for _, h := range told.Holders {
		names = append(names, fmt.Sprint(h.Name, " ", h.Borrows, " ", len(h.Charged)))
	}
	// Of what they hold, only devices are missing.
	if got, want := strings.Join(names, ", "), "low-0 true 1, low-1 true 1, low-2 true 1, own false 1"; got != want {
		t.Errorf("the holders are %s, want %s", got, want)
	}
	if want := "Nobody is evicted for it: queue <q> deserves no more of what it lacks, and no job of lower priority"; told.Eviction == nil || !strings.HasPrefix(told.Eviction.Message, want) {
		t.Errorf("the eviction is %+v, want %q", told.Eviction, want)
	}
}

func TestExplanationsSayWhereDevicesAre(t *testing.T) {
	s := lending()
	s.job("p", "q", inqueue, nil, s.claimed(2, newPod("p", "", cpu(1))))
	ssn := s.open(t)
	want := v1alpha1.Supply{Dimension: v1alpha1.Dimension{Kind: v1alpha1.Device, Name: h100}, Asked: 2, Total: 4, Nodes: 1, Places: []v1alpha1.Place{{Node: "n1", Total: 4}}}
	for _, kind := range []string{"Pod", "PodGroup"} {
		_, _, told := s.waits(t, ssn, kind, "p")
		if fmt.Sprint(told.Supplies) != fmt.Sprint([]v1alpha1.Supply{want}) {
			t.Errorf("%s: the devices are %+v, want %+v", kind, told.Supplies, want)
		}
	}
}

func TestExplanationsSayWhereCardsAre(t *testing.T) {
	s := newFixture(8, 8, 8).queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"NVIDIA-H100": 4}`})
	for i, model := range []string{"NVIDIA-H100", "NVIDIA-H100", "NVIDIA-A100"} {
		s.Nodes[i].Labels = map[string]string{"nvidia.com/gpu.product": model}
	}
	s.job("holder", "q", running, nil, gpuPod("holder", "n1", 4, ""))
	s.job("p", "q", inqueue, nil, gpuPod("p", "", 5, "NVIDIA-H100"))
	_, _, told := s.waits(t, s.act(t), "Pod", "p")
	want := v1alpha1.Supply{
		Dimension: v1alpha1.Dimension{Kind: v1alpha1.Card, Name: "NVIDIA-H100"}, Asked: 5, Free: 12, Total: 16, Nodes: 2, NodesWithEnough: 1,
		Places: []v1alpha1.Place{{Node: "n2", Free: 8, Total: 8}, {Node: "n1", Free: 4, Total: 8}},
	}
	if fmt.Sprint(told.Supplies) != fmt.Sprint([]v1alpha1.Supply{want}) {
		t.Errorf("the cards are %+v, want %+v", told.Supplies, want)
	}
}

func TestOneThousandNodesAreSummarized(t *testing.T) {
	cores := make([]int, 1000)
	for i := range cores {
		cores[i] = 1 + i%50
	}
	s := newFixture(cores...).queue("root", "", nil)
	for i, node := range s.Nodes {
		node.Labels = map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100", "own": fmt.Sprint(i)}
	}
	s.withCards(nil)
	s.job("p", "root", inqueue, nil, gpuPod("p", "", 9, "NVIDIA-H100"))
	_, _, told := s.waits(t, s.act(t), "Pod", "p")
	if len(told.Supplies) != 1 || told.Supplies[0].Nodes != 1000 || len(told.Supplies[0].Places) != explain.MaxPlaces || told.Supplies[0].MorePlaces != 1000-explain.MaxPlaces {
		t.Errorf("the cards are %+v", told.Supplies)
	}
	if len(told.Nodes) == 0 || len(told.Nodes) > explain.MaxAnswers {
		t.Errorf("there are %d different answers of nodes", len(told.Nodes))
	}
}

func TestTheSubjectIsWhatWasAskedAbout(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("full", "root", capped(1))
	s.job("early-1234", "full", pending, cpu(2))
	s.PodGroups[0].OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "early", Controller: ptr.To(true)}}
	ssn := s.act(t)
	for kind, name := range map[string]string{"Job": "early", "PodGroup": "early-1234"} {
		_, _, told := s.waits(t, ssn, kind, name)
		if told.Subject.Kind != kind || told.Subject.Name != name {
			t.Errorf("%s %s: the subject is %+v", kind, name, told.Subject)
		}
	}
}

func TestAJobWhosePodsDoNotExistWaitsForThem(t *testing.T) {
	s := newFixture(8).queue("root", "", nil)
	s.job("late", "root", inqueue, nil, newPod("late-0", "", cpu(1)))
	s.PodGroups[0].Spec.MinMember = 2
	for kind, name := range map[string]string{"PodGroup": "late", "Pod": "late-0"} {
		cause, check, _ := s.waits(t, s.open(t), kind, name)
		if want := "The job starts only with <2> pods together, and only <1> of them exist: see whether what creates them runs"; cause != want || check != explain.GangCheck {
			t.Errorf("%s: check %s fails because %q, want %q", kind, check, cause, want)
		}
	}
}
