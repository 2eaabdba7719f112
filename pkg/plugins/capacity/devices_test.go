// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/lastvalid"
)

const h100 = "h100"

// withDevices publishes the fixture's queues with the given device quotas, for the plugin to read from the API server.
func (s *fixture) withDevices(quotas map[string]schedulingv1beta1.DRAQuota) *fixture {
	s.publish(func(q *schedulingv1beta1.Queue) {
		if dra, listed := quotas[q.Name]; listed {
			q.Spec.DRA = &dra
		}
	})
	s.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: h100}}}
	return s
}

// publish publishes the fixture's queues with a change, for the plugin to read from the API server.
func (s *fixture) publish(change func(*schedulingv1beta1.Queue)) {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for _, q := range s.Queues {
		object := &schedulingv1beta1.Queue{ObjectMeta: q.ObjectMeta}
		change(object)
		if err := indexer.Add(object); err != nil {
			panic(err)
		}
	}
	s.cache = newTestCache()
	s.cache.quotas = lastvalid.New(schedulinglisters.NewQueueLister(indexer))
}

// jobsOf lists Volcano Jobs.
func jobsOf(t *testing.T, jobs ...*batchv1alpha1.Job) batchlisters.JobLister {
	t.Helper()
	known := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	for _, job := range jobs {
		must(t, known.Add(job))
	}
	return batchlisters.NewJobLister(known)
}

func counts(n int64) schedulingv1beta1.DeviceQuotas {
	return schedulingv1beta1.DeviceQuotas{h100: {Count: n}}
}

// claimed gives a pod a claim for n devices. The claim is allocated if the pod has a node.
func (s *fixture) claimed(n int, p *corev1.Pod) *corev1.Pod {
	name := p.Name + "-gpus"
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu",
			Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: h100, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(n)}}}}},
	}
	if p.Spec.NodeName != "" {
		claim.Status.Allocation = &resourcev1.AllocationResult{}
		for range n {
			claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: "gpu"})
		}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	}
	s.ResourceClaims = append(s.ResourceClaims, claim)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: ptr.To(name)}}
	return p
}

func TestDevicesTakePartInEverything(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("a", "ml", nil).queue("b", "ml", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{
		"ml": {Capability: counts(8)}, "a": {Deserved: counts(4)}, "b": {Deserved: counts(4), Capability: counts(6)},
	})
	s.job("a", "a", running, nil, s.claimed(2, newPod("a1", "n1", cpu(1))))
	s.job("b", "b", running, nil, s.claimed(5, newPod("b1", "n1", cpu(1))))
	s.job("fits", "a", inqueue, nil, s.claimed(1, newPod("fits", "", cpu(1))))
	s.job("large", "a", inqueue, nil, s.claimed(2, newPod("large", "", cpu(1))))
	s.job("early", "b", pending, cpu(1), s.claimed(2, newPod("early", "", cpu(1))))
	ssn := s.open(t)

	if !ssn.Allocatable(ssn.Queues["a"], taskOf(ssn, "fits")) {
		t.Error("Allocatable: the eighth device is refused")
	}
	if ssn.Allocatable(ssn.Queues["a"], taskOf(ssn, "large")) {
		t.Error("Allocatable: a ninth device is handed out")
	}
	if ssn.JobEnqueueable(ssn.Jobs["ns/early"]) {
		t.Error("JobEnqueueable: a job for two devices is admitted where one is left")
	}
	if got, want := ssn.Jobs["ns/early"].JobFitErrors, "Queue <b> has insufficient <h100> quota: requested <2>, total would be <7>, but capability is <6>"; got != want {
		t.Errorf("JobEnqueueable says %q, want %q", got, want)
	}
	if !ssn.QueueOrderFn(ssn.Queues["a"], ssn.Queues["b"]) {
		t.Error("QueueOrder: the queue that has half of what it deserves comes after the one that has more")
	}
}

// Volcano's controllers create the PodGroup of a pod before they name it in the pod.
func TestAJobWhosePodsHaveNotBeenReadIsNotAdmitted(t *testing.T) {
	for _, test := range []struct {
		name   string
		group  string
		owner  metav1.OwnerReference
		pods   []*corev1.Pod
		admits bool
	}{
		{name: "the pod is not read yet", group: "podgroup-uid", owner: metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p"}},
		{name: "the pods of a Kubernetes Job are not read yet", group: "podgroup-uid", owner: metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "p"}},
		{name: "the pod fits", group: "podgroup-uid", owner: metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p"}, pods: []*corev1.Pod{newPod("p", "", cpu(1))}, admits: true},
		{name: "a controller of its own creates the pods later", group: "mine", owner: metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p"}, admits: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
			s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
			for _, pod := range test.pods {
				s.claimed(1, pod)
			}
			s.job(test.group, "q", pending, cpu(1), test.pods...)
			group := s.PodGroups[0]
			group.Spec.MinMember = 1
			test.owner.UID, test.owner.Controller = "uid", ptr.To(true)
			group.OwnerReferences = []metav1.OwnerReference{test.owner}
			ssn := s.open(t)
			if got := ssn.JobEnqueueable(ssn.Jobs[api.JobID("ns/"+test.group)]); got != test.admits {
				t.Errorf("JobEnqueueable is %t, want %t", got, test.admits)
			}
			if cause, _, _ := s.waits(t, ssn, "PodGroup", test.group); !test.admits && !strings.HasPrefix(cause, "No pod has PodGroup ns/podgroup-uid in its annotation") {
				t.Errorf("the cause is %q", cause)
			}
		})
	}
}

// Volcano's controllers create the pods of a Volcano Job after its admission.
func TestAVolcanoJobThatIsCalledPodgroupIsAdmitted(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "podgroup", UID: "uid"}, Spec: batchv1alpha1.JobSpec{Queue: "q"}}
	s.open(t) // starts the informers that this replaces
	s.cache.jobs = jobsOf(t, job)
	group := job.Name + "-" + string(job.UID)
	s.job(group, "q", pending, cpu(1))
	s.PodGroups[0].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, helpers.JobKind)}
	ssn := s.open(t)
	if !ssn.JobEnqueueable(ssn.Jobs[api.JobID("ns/"+group)]) {
		cause, _, _ := s.waits(t, ssn, "PodGroup", group)
		t.Errorf("it waits: %s", cause)
	}
}

func TestOverLimitIsKeptInSimulations(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(4)}})
	s.job("low", "q", running, nil, s.claimed(3, newPod("low", "n1", cpu(1))))
	s.job("high", "q", inqueue, nil, s.claimed(2, newPod("high", "", cpu(1))))
	ssn := s.open(t)
	preemptor, queue := taskOf(ssn, "high"), ssn.Queues["q"]
	must(t, ssn.PrePredicateFn(preemptor))
	state := ssn.GetCycleState(preemptor.UID).Clone()
	if ssn.SimulateAllocatableFn(t.Context(), state, queue, preemptor) {
		t.Error("fits although nothing is gone")
	}
	must(t, ssn.SimulateRemoveTaskFn(t.Context(), state, preemptor, taskOf(ssn, "low"), nil))
	if !ssn.SimulateAllocatableFn(t.Context(), state, queue, preemptor) {
		t.Error("does not fit although the victim is gone")
	}
}

// TestDevicesOutliveTheirQueue: a queue is deleted while its pod runs. The devices are still taken, and the queue above
// must not give them away again.
func TestDevicesOutliveTheirQueue(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("gone", "ml", nil).queue("other", "ml", nil)
	quotas := map[string]schedulingv1beta1.DRAQuota{"ml": {Capability: counts(4)}}
	s.withDevices(quotas)
	s.job("holder", "gone", running, nil, s.claimed(3, newPod("holder", "n1", cpu(1))))
	first := s.open(t)
	framework.CloseSession(first)

	after := newFixture(8).queue("root", "", nil).queue("ml", "root", nil).queue("other", "ml", nil)
	after.withDevices(quotas)
	s.cache.quotas = after.cache.quotas
	after.cache = s.cache
	after.ResourceClaims, after.strays = s.ResourceClaims, s.Pods
	after.job("next", "other", inqueue, nil, after.claimed(2, newPod("next", "", cpu(1))))
	second := after.open(t)
	p := pluginOf(second)
	ml, _ := p.snapshot.Ledger.Queue("ml")
	count := p.snapshot.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: h100})
	if got := p.snapshot.Ledger.Balance(ml, ledger.Allocated, count); got != ledger.Units(3) {
		t.Errorf("queue ml has %s devices, want the 3 of the queue that is gone", got)
	}
	if second.Allocatable(second.Queues["other"], taskOf(second, "next")) {
		t.Error("five devices are handed out where four are the limit")
	}
}

func TestDevicesWaitForQuotas(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("new", "root", nil).withDevices(nil)
	s.queue("unread", "root", nil) // the informer does not have it yet
	s.job("j", "unread", inqueue, nil, s.claimed(1, newPod("waits", "", cpu(1))))
	s.job("k", "q", inqueue, nil, s.claimed(1, newPod("goes", "", cpu(1))))
	ssn := s.open(t)
	if ssn.Allocatable(ssn.Queues["unread"], taskOf(ssn, "waits")) {
		t.Error("a queue whose quota has not been read hands out devices")
	}
	if !ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "goes")) {
		t.Error("a queue whose quota has been read hands out none")
	}
}

func TestStartWaitsForPodsThatHoldDevices(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("free", "root", nil)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(8)}})
	stranger := s.claimed(1, newPod("stranger", "n1", cpu(1)))
	stranger.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey] = "not-read-yet"
	s.job("j", "q", inqueue, nil, s.claimed(1, newPod("next", "", cpu(1))))
	s.job("late", "q", pending, cpu(1), s.claimed(1, newPod("late", "", cpu(1)))).job("plain", "q", pending, cpu(1), newPod("plain", "", cpu(1)))
	s.job("unlimited", "free", pending, cpu(1), s.claimed(1, newPod("unlimited", "", cpu(1))))
	ssn := s.open(t)
	must(t, ssn.InformerFactory().Core().V1().Pods().Informer().GetStore().Add(stranger))
	p := pluginOf(ssn)
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	p.cache.snapshots.StartCatchUp(clock)
	if p.lookAgain(); p.checks.DevicesNotReady == nil || ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "next")) {
		t.Errorf("devices are allocated while pod stranger is unknown; not ready: %v", p.checks.DevicesNotReady)
	}
	for job, want := range map[api.JobID]bool{"ns/late": false, "ns/plain": true, "ns/unlimited": true} {
		if got := ssn.JobEnqueueable(ssn.Jobs[job]); got != want {
			t.Errorf("job %s is let in while pod stranger is unknown: %t, want %t", job, got, want)
		}
	}
	clock.SetTime(clock.Now().Add(31 * time.Second))
	if p.lookAgain(); p.checks.DevicesNotReady != nil || !ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "next")) {
		t.Errorf("a pod that stays unknown blocks all others for ever: %v", p.checks.DevicesNotReady)
	}
	if !ssn.JobEnqueueable(ssn.Jobs["ns/late"]) {
		t.Error("job late is not let in after all is known")
	}
}

// TestALostQuotaHolds: the CRD no longer has spec.dra, and the scheduler has restarted.
func TestALostQuotaHolds(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).withDevices(nil)
	s.publish(func(q *schedulingv1beta1.Queue) {
		if q.Name == "q" {
			q.Annotations = map[string]string{schedulingv1beta1.LastValidQuotaAnnotation: `{"generation":0,"dra":{"capability":{"h100":{"count":2}}}}`}
		}
	})
	s.job("j", "q", inqueue, nil, s.claimed(2, newPod("fits", "", cpu(1))))
	s.job("k", "q", inqueue, nil, s.claimed(3, newPod("large", "", cpu(1))))
	ssn := s.open(t)
	if !ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "fits")) {
		t.Error("two devices are refused")
	}
	if ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "large")) {
		t.Error("three devices are handed out")
	}
}
