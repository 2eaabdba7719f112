// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// stocked gives node n1 n devices of class h100.
func (s *fixture) stocked(n int) *fixture {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "driver", NodeName: ptr.To("n1"), Pool: resourcev1.ResourcePool{Name: "n1", ResourceSliceCount: 1},
	}}
	for i := range n {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "gpu-" + string(rune('a'+i))})
	}
	s.ResourceSlices = []*resourcev1.ResourceSlice{slice}
	return s
}

// sharing makes a pod use the claim that claimed gave to another pod.
func sharing(with, p *corev1.Pod) *corev1.Pod {
	p.Spec.ResourceClaims = with.Spec.ResourceClaims
	return p
}

// devicesOfQueue returns the devices that a queue is charged for.
func devicesOfQueue(p *plugin, name string) ledger.Amount {
	return balanceOfQueue(p, name, ledger.Allocated)
}

// balanceOfQueue returns the devices of a queue in an account.
func balanceOfQueue(p *plugin, name string, account ledger.Account) ledger.Amount {
	queue, _ := p.snapshot.Ledger.Queue(name)
	return p.snapshot.Ledger.Balance(queue, account, p.snapshot.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: h100}))
}

// filtered returns why a node does not suit a pod.
func filtered(ssn *framework.Session, pod, node string) error {
	if err := ssn.PrePredicateFn(taskOf(ssn, pod)); err != nil {
		return err
	}
	return ssn.PredicateFn(taskOf(ssn, pod), ssn.Nodes[node])
}

func TestGangGetsItsDevicesOrNone(t *testing.T) {
	for _, c := range []struct {
		name     string
		devices  int
		quota    int64
		statuses string
		charged  int64
		reserved bool
	}{
		{"all of it fits", 3, 3, "a:Binding b:Binding c:Binding", 3, true},
		{"a device is missing", 2, 3, "a:Pending b:Pending c:Pending", 0, false},
		{"the quota is too small", 3, 2, "a:Pending b:Pending c:Pending", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(c.devices)
			s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(c.quota)}})
			s.job("gang", "q", inqueue, nil, s.claimed(1, newPod("a", "", cpu(1))), s.claimed(1, newPod("b", "", cpu(1))), s.claimed(1, newPod("c", "", cpu(1))))
			ssn := s.open(t)
			s.Run([]framework.Action{allocate.New()})
			p := pluginOf(ssn)
			expectStatuses(t, ssn, c.statuses)
			if got := devicesOfQueue(p, "q"); got != ledger.Units(c.charged) {
				t.Errorf("%s devices are charged, want %d", got, c.charged)
			}
			p.placements.UnreserveUnbound()
			claim, err := (devices.ClaimReader{Cache: p.cache.devices}).Claim("ns", "a-gpus")
			must(t, err)
			if got := claim.Status.Allocation != nil; got != c.reserved {
				t.Errorf("a's device is reserved: %t, want %t", got, c.reserved)
			}
		})
	}
}

// TestGangSharesAClaim: kubernetes issue 137617.
func TestGangSharesAClaim(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(2)}})
	first := s.claimed(2, newPod("a", "", cpu(1)))
	s.job("gang", "q", inqueue, nil, first, sharing(first, newPod("b", "", cpu(1))), sharing(first, newPod("c", "", cpu(1))))
	ssn := s.open(t)
	s.Run([]framework.Action{allocate.New()})
	expectStatuses(t, ssn, "a:Binding b:Binding c:Binding")
	if got := devicesOfQueue(pluginOf(ssn), "q"); got != ledger.Units(2) {
		t.Errorf("%s devices are charged, want 2", got)
	}
}

// TestPodWithoutReservationIsNotBound: Session.Allocate, as called by the backfill action, ignores failed reservations
// (volcano issue 5116).
func TestPodWithoutReservationIsNotBound(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(1)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(8)}})
	s.job("j", "q", inqueue, nil, s.claimed(1, newPod("first", "", cpu(1))))
	s.job("k", "q", inqueue, nil, s.claimed(1, newPod("second", "", cpu(1))))
	ssn := s.open(t)
	p := pluginOf(ssn)
	for _, name := range []string{"first", "second"} { // both see the device free
		must(t, filtered(ssn, name, "n1"))
	}
	for _, name := range []string{"first", "second"} {
		task := taskOf(ssn, name)
		must(t, ssn.Jobs[task.Job].UpdateTaskStatus(task, api.Allocated))
		task.NodeName = "n1"
		event := &framework.Event{Task: task}
		p.allocate(event)
		context := ssn.CreateBindContext(task)
		err := p.binder().PreBind(t.Context(), context)
		if name == "first" && (event.Err != nil || err != nil) {
			t.Errorf("first: %v, %v", event.Err, err)
		}
		if name == "second" && (event.Err == nil || err == nil || !strings.Contains(err.Error(), "no longer has the devices that were picked")) {
			t.Errorf("second got a device that is taken: %v, %v", event.Err, err)
		}
	}
	if got := devicesOfQueue(p, "q"); got != ledger.Units(1) {
		t.Errorf("%s devices are charged, want 1", got)
	}
}

func TestDevicesOfPodsThatGoAreNotHandedOutYet(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(4)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(2)}})
	s.job("low", "q", running, nil, s.claimed(2, newPod("low", "n1", cpu(1))))
	s.job("high", "q", inqueue, nil, s.claimed(2, newPod("high", "", cpu(1))))
	ssn := s.open(t)
	p, low, high := pluginOf(ssn), taskOf(ssn, "low"), taskOf(ssn, "high")
	if ssn.Allocatable(ssn.Queues["q"], high) {
		t.Error("fits although nobody goes")
	}
	statement := framework.NewStatement(ssn)
	must(t, statement.Evict(low, "test"))
	if !ssn.Allocatable(ssn.Queues["q"], high) {
		t.Error("may not preempt although the other pod goes")
	}
	if err := filtered(ssn, "high", "n1"); err == nil || !strings.Contains(err.Error(), "insufficient <h100> quota: requested <2>, total would be <4>, but capability is <2>") {
		t.Errorf("devices that are not back are handed out: %v", err)
	}
	statement.Discard()
	if ssn.Allocatable(ssn.Queues["q"], high) || balanceOfQueue(p, "q", ledger.Releasing).Sign() > 0 || devicesOfQueue(p, "q") != ledger.Units(2) {
		t.Errorf("after the eviction was taken back: %s devices leave, %s are charged", balanceOfQueue(p, "q", ledger.Releasing), devicesOfQueue(p, "q"))
	}
}

// TestVolumesAreStillBound: upstream's plugin finds what it needs when a pod is bound.
func TestVolumesAreStillBound(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).withDevices(nil)
	s.PVCs = []*corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}}
	withVolume := newPod("p", "", cpu(1))
	withVolume.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	s.job("j", "q", inqueue, nil, withVolume)
	ssn := s.open(t)
	bind := ssn.CreateBindContext(taskOf(ssn, "p"))
	if _, found := bind.Extensions[predicates.PluginName].(*predicates.BindContextExtension); !found {
		t.Errorf("extensions for binding are %v", bind.Extensions)
	}
}

// TestPipelinedPodsCarryNoClaims: a pod of another queue shares a claim with a pod that is only pipelined. It does not
// get the devices for nothing.
func TestPipelinedPodsCarryNoClaims(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("rich", "root", nil).queue("poor", "root", nil).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"rich": {Capability: counts(2)}, "poor": {Capability: counts(0)}})
	first := s.claimed(2, newPod("hoping", "", cpu(1)))
	s.job("j", "rich", inqueue, nil, first)
	s.job("k", "poor", inqueue, nil, sharing(first, newPod("sharing", "", cpu(1))))
	ssn := s.open(t)
	p := pluginOf(ssn)
	must(t, filtered(ssn, "hoping", "n1"))
	statement := framework.NewStatement(ssn)
	must(t, statement.Pipeline(taskOf(ssn, "hoping"), "n1", false))
	if got := balanceOfQueue(p, "rich", ledger.Pipelined); got != ledger.Units(2) {
		t.Errorf("the pod that is pipelined is promised %s devices, want 2", got)
	}
	if got := devicesOfQueue(p, "rich"); got.Sign() != 0 {
		t.Errorf("%s devices count as allocated, which nobody holds", got)
	}
	if ssn.Allocatable(ssn.Queues["poor"], taskOf(ssn, "sharing")) {
		t.Error("a queue that may have no devices gets two")
	}
	statement.Discard()
	if got := balanceOfQueue(p, "rich", ledger.Pipelined); got.Sign() != 0 {
		t.Errorf("after that is undone %s devices are promised", got)
	}
}

// TestUndoneShareKeepsWhatWasWritten: a claim is written while a pod that shares it is placed and undone. Its devices stay taken.
func TestUndoneShareKeepsWhatWasWritten(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2).withDevices(nil)
	first := s.claimed(2, newPod("first", "", cpu(1)))
	s.job("j", "q", inqueue, nil, first)
	s.job("k", "q", inqueue, nil, sharing(first, newPod("second", "", cpu(1))))
	s.job("l", "q", inqueue, nil, s.claimed(1, newPod("third", "", cpu(1))))
	ssn := s.open(t)
	p := pluginOf(ssn)
	one, two := framework.NewStatement(ssn), framework.NewStatement(ssn)
	must(t, filtered(ssn, "first", "n1"))
	must(t, one.Allocate(taskOf(ssn, "first"), ssn.Nodes["n1"]))
	must(t, filtered(ssn, "second", "n1"))
	bind := ssn.CreateBindContext(taskOf(ssn, "first"))
	must(t, p.binder().PreBind(t.Context(), bind))
	must(t, two.Allocate(taskOf(ssn, "second"), ssn.Nodes["n1"]))
	two.Discard()
	if err := filtered(ssn, "third", "n1"); err == nil {
		t.Error("a device that is allocated is handed out again")
	}
}

// TestAPodWhoseAnnotationsLeaveNoRoomForItsRecordIsNotBound: nobody could write its status any more.
func TestAPodWhoseAnnotationsLeaveNoRoomForItsRecordIsNotBound(t *testing.T) {
	for name, change := range map[string]func(*fixture, *corev1.Pod) *corev1.Pod{
		"with a claim":    func(s *fixture, pod *corev1.Pod) *corev1.Pod { return s.claimed(1, pod) },
		"without a claim": func(_ *fixture, pod *corev1.Pod) *corev1.Pod { return pod },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(1).withDevices(nil)
			pod := change(s, newPod("p", "", cpu(1)))
			s.job("j", "q", inqueue, nil, pod)
			rest := 256<<10 - len("note")
			for key, value := range pod.Annotations {
				rest -= len(key) + len(value)
			}
			pod.Annotations["note"] = strings.Repeat("x", rest)
			ssn := s.open(t)
			task := taskOf(ssn, "p")
			must(t, filtered(ssn, "p", "n1"))
			must(t, framework.NewStatement(ssn).Allocate(task, ssn.Nodes["n1"]))
			err := pluginOf(ssn).binder().PreBind(t.Context(), ssn.CreateBindContext(task))
			if err == nil || !strings.Contains(err.Error(), "the annotations of pod ns/p leave no room for the record of its charge: shorten them") {
				t.Error(err)
			}
			for _, action := range ssn.KubeClient().(*fake.Clientset).Actions() {
				if action.GetResource().Resource == "resourceclaims" && slices.Contains([]string{"update", "patch", "delete"}, action.GetVerb()) {
					t.Errorf("there is a %s of the claim in each cycle", action.GetVerb())
				}
			}
		})
	}
}
