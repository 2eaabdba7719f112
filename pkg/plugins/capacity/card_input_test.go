// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/settings"
)

func TestNodesThatCannotBeReadAreReportedOnce(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil)
	s.Nodes[0].Labels["nvidia.com/gpu.memory"] = "80GB"
	ssn := s.open(t)
	expectEvent(t, ssn.KubeClient(), "Node", "n1", problems.CardsNotReadReason, `its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB`)
}

// TestStartWaitsForPodsThatHoldCards: cards whose holders are unknown are not given away.
func TestStartWaitsForPodsThatHoldCards(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).queue("free", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2}`})
	s.queue("unread", "root", nil) // the informer does not have it yet
	stranger := gpuPod("stranger", "n1", 1, "")
	stranger.Annotations[scheduling.KubeGroupNameAnnotationKey] = "not-read-yet"
	s.job("j", "q", inqueue, nil, gpuPod("next", "", 1, "H100")).job("k", "free", inqueue, nil, gpuPod("unlimited", "", 1, "H100"))
	s.job("l", "unread", inqueue, nil, gpuPod("unread", "", 1, "H100"))
	ssn := s.open(t)
	p := pluginOf(ssn)
	expect := func(what string, next bool) {
		t.Helper()
		for queue, pod := range map[string]string{"q": "next", "free": "unlimited", "unread": "unread"} {
			if got, want := ssn.Allocatable(ssn.Queues[api.QueueID(queue)], taskOf(ssn, pod)), queue == "free" || queue == "q" && next; got != want {
				t.Errorf("%s: pod %s may run: %t, want %t", what, pod, got, want)
			}
		}
	}
	expect("all pods are known", true)
	must(t, ssn.InformerFactory().Core().V1().Pods().Informer().GetStore().Add(stranger))
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	p.cache.snapshots.StartCatchUp(clock)
	p.lookAgain()
	expect("one is not known", false)
	clock.SetTime(clock.Now().Add(31 * time.Second))
	p.lookAgain()
	expect("one will never be known", true)
}

// lookAgain checks again whether devices and cards can be allocated.
func (p *plugin) lookAgain() {
	p.checks.DevicesNotReady, p.checks.CardsNotReady = nil, nil
	p.checkReadiness(p.devices != nil, p.binder().Devices)
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments framework.Arguments
		want      card.ResourceNames
	}{
		{name: "none"},
		{name: "a list", arguments: framework.Arguments{settings.CardResourceNames: []any{"nvidia.com/gpu", "nvidia.com/mig-*"}}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "a string", arguments: framework.Arguments{settings.CardResourceNames: "nvidia.com/gpu, nvidia.com/mig-*"}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "no strings", arguments: framework.Arguments{settings.CardResourceNames: []any{1}}},
		{name: "no list", arguments: framework.Arguments{settings.CardResourceNames: 1}},
		{name: "no pattern", arguments: framework.Arguments{settings.CardResourceNames: "nvidia.com/["}},
	} {
		if got := readArguments(Name, c.arguments).CardResources; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if s := readArguments(CardName, nil); !s.CardQuotaRequired || !s.CapacityCardMode || s.NodeOrderWeight != 1 || s.CardUnlimitedCPUMemory {
		t.Errorf("defaults of %s are %+v", CardName, s)
	}
	if s := readArguments(Name, framework.Arguments{settings.NodeOrderWeight: 0.5}); s.CardQuotaRequired || s.CapacityCardMode || s.NodeOrderWeight != 0.5 {
		t.Errorf("arguments of %s are %+v", Name, s)
	}
}

// TestAClaimThatIsNotNeededDoesNotPanic: the scheduler does not allocate devices. A pod that asks for a card has an
// entry in spec.resourceClaims that needs no claim.
func TestAClaimThatIsNotNeededDoesNotPanic(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"H100": 8}`})
	pod := gpuPod("p", "", 1, "H100")
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "none", ResourceClaimTemplateName: ptr.To("template")}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "none"}}
	s.job("j", "q", inqueue, nil, pod)
	expectStatuses(t, s.act(t), "p:Binding")
}

// TestWhichRequestsAreCards: requests of containers and of the overhead are, requests that a Volcano plugin accounts for are not.
func TestWhichRequestsAreCards(t *testing.T) {
	overhead := newPod("p", "", cpu(1))
	overhead.Spec.Overhead = gpu(2)
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		ignored []string
		fits    bool
	}{
		{name: "a container's", pod: gpuPod("p", "", 2, "")},
		{name: "the overhead's", pod: overhead},
		{name: "a resource that another plugin accounts for", pod: gpuPod("p", "", 2, ""), ignored: []string{"nvidia.com/gpu"}, fits: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			api.IgnoredDevicesList.Set(c.ignored)
			t.Cleanup(func() { api.IgnoredDevicesList.Set(nil) })
			s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
			s.withCards(map[string]string{"q": `{"H100": 1}`}).job("j", "q", inqueue, nil, c.pod)
			ssn := s.open(t)
			if got := ssn.Allocatable(ssn.Queues["q"], taskOf(ssn, "p")); got != c.fits {
				t.Errorf("fits one H100: %t, want %t", got, c.fits)
			}
		})
	}
}

// TestTheSecondNameIsLeftOut: a configuration with the plugin under both names works with the first one.
func TestTheSecondNameIsLeftOut(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
	s.Plugins = map[string]framework.PluginBuilder{CardName: func(arguments framework.Arguments) framework.Plugin {
		return &plugin{cache: s.cache, arguments: readArguments(CardName, arguments)}
	}}
	s.extra = []conf.PluginOption{{Name: CardName}}
	s.job("j", "q", inqueue, nil, s.claimed(1, newPod("fits", "", cpu(1))))
	s.job("k", "q", inqueue, nil, s.claimed(1, newPod("waits", "", cpu(1))))
	ssn := s.act(t)
	if got := statuses(ssn); got != "fits:Binding waits:Pending" && got != "fits:Pending waits:Binding" {
		t.Errorf("pods are %s", got)
	}
	framework.CloseSession(ssn)
}
