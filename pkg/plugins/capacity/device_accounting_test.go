// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/settings"
)

const testDriver = "gpu.example.com"

// withModels publishes devices and classes. There is a class for each model, and the class gpu with all devices. Each
// node has one device of each model in its list of words.
func (s *fixture) withModels(accounting string, quotas map[string]schedulingv1beta1.DRAQuota, models map[string]string) *fixture {
	s.withDevices(quotas)
	s.arguments = framework.Arguments{settings.DeviceAccounting: accounting}
	class := func(name, expression string) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}},
		}}
	}
	s.DeviceClasses = []*resourcev1.DeviceClass{class("gpu", fmt.Sprintf("device.driver == %q", testDriver))}
	for _, model := range []string{h100, "a100"} {
		s.DeviceClasses = append(s.DeviceClasses, class(model, fmt.Sprintf("device.driver == %q && device.attributes[%[1]q].model == %q", testDriver, model)))
	}
	for node, words := range models {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
			Driver: testDriver, NodeName: ptr.To(node), Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
		}}
		for model := range strings.FieldsSeq(words) {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name: model, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
			})
		}
		s.ResourceSlices = append(s.ResourceSlices, slice)
	}
	return s
}

// asking gives a pod a claim for a device of a class. If the pod has a node, the claim has a device of a model there.
func (s *fixture) asking(class, model string, p *corev1.Pod) *corev1.Pod {
	name := p.Name + "-gpu"
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu",
			Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}}},
	}
	if p.Spec.NodeName != "" {
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "gpu", Driver: testDriver, Pool: p.Spec.NodeName, Device: model},
		}}}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
	}
	s.ResourceClaims = append(s.ResourceClaims, claim)
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To(name)}}
	return p
}

func capability(counts map[string]int64) schedulingv1beta1.DRAQuota {
	quotas := schedulingv1beta1.DeviceQuotas{}
	for class, n := range counts {
		quotas[class] = schedulingv1beta1.DeviceQuota{Count: n}
	}
	return schedulingv1beta1.DRAQuota{Capability: quotas}
}

// whyNot returns why a pod has no node at the end of a session.
func whyNot(ssn *framework.Session, pod string) string {
	pluginOf(ssn).report()
	task := taskOf(ssn, pod)
	job := ssn.Jobs[task.Job]
	if errs := job.NodesFitErrors[task.UID]; errs != nil {
		return errs.Error()
	}
	return job.JobFitErrors
}

// expectPlace compares the node of pod p. If it is empty, it also compares why the pod waits.
func expectPlace(t *testing.T, ssn *framework.Session, node, why string) {
	t.Helper()
	said := whyNot(ssn, "p")
	if got := taskOf(ssn, "p").NodeName; got != node {
		t.Errorf("the pod is on node %q, want %q: %s", got, node, said)
	}
	if node == "" && !strings.Contains(said, why) {
		t.Errorf("the pod waits because\n%s, want\n%s", said, why)
	}
}

func TestAGenericClassIsNoWayRoundTheQuotaOfASpecificOne(t *testing.T) {
	for _, c := range []struct {
		name, accounting string
		models           map[string]string
		node, why        string
	}{
		{"requested", "requested", map[string]string{"n1": h100}, "n1", ""},
		{"matching", "matching", map[string]string{"n1": h100}, "",
			"Queue <q> has insufficient <h100> quota: requested <1>, total would be <1>, but capability is <0>; the pod asks for devices of gpu, and a device counts for every limited class that it matches"},
		{"matching, with another device of the generic class", "matching", map[string]string{"n1": h100, "n2": "a100"}, "n2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
			s.withModels(c.accounting, map[string]schedulingv1beta1.DRAQuota{"q": capability(map[string]int64{h100: 0})}, c.models)
			s.job("j", "q", inqueue, nil, s.asking("gpu", "", newPod("p", "", cpu(1))))
			ssn := s.act(t)
			expectPlace(t, ssn, c.node, c.why)
		})
	}
}

// TestAGenericClassIsNoWayRoundTheImplicitNameOfASpecificOne: spec.capability may limit devices of a class by this name, without spec.dra.
func TestAGenericClassIsNoWayRoundTheImplicitNameOfASpecificOne(t *testing.T) {
	for accounting, node := range map[string]string{"requested": "n1", "matching": ""} {
		t.Run(accounting, func(t *testing.T) {
			none := corev1.ResourceList{"deviceclass.resource.kubernetes.io/" + h100: resource.MustParse("0")}
			s := newFixture(8).queue("root", "", nil).queue("q", "root", func(spec *upstreamv1beta1.QueueSpec) { spec.Capability = none })
			s.withModels(accounting, nil, map[string]string{"n1": h100})
			s.job("j", "q", inqueue, nil, s.asking("gpu", "", newPod("p", "", cpu(1))))
			ssn := s.act(t)
			expectPlace(t, ssn, node, "Queue <q> has insufficient <h100> quota: requested <1>, total would be <1>, but capability is <0>")
		})
	}
}

func TestDevicesInUseCountForTheClassesThatTheyMatch(t *testing.T) {
	for accounting, want := range map[string]string{
		"requested": "held:Running p:Binding",
		"matching":  "held:Running p:Pending",
	} {
		t.Run(accounting, func(t *testing.T) {
			s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
			s.withModels(accounting, map[string]schedulingv1beta1.DRAQuota{"q": capability(map[string]int64{h100: 1})}, map[string]string{"n1": h100, "n2": h100})
			s.job("holder", "q", running, nil, s.asking("gpu", h100, newPod("held", "n1", cpu(1))))
			s.job("j", "q", inqueue, nil, s.asking(h100, "", newPod("p", "", cpu(1))))
			expectStatuses(t, s.act(t), want)
		})
	}
}

func TestADeviceCountsForTheCardOfAClassThatItMatches(t *testing.T) {
	for accounting, want := range map[string]string{"requested": "p:Binding", "matching": "p:Pending"} {
		t.Run(accounting, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
			s.withModels(accounting, nil, map[string]string{"n1": h100})
			s.DeviceClasses[1].Annotations = map[string]string{card.NameAnnotation: "NVIDIA-H100"}
			s.publish(func(q *schedulingv1beta1.Queue) {
				if q.Name == "q" {
					q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: `{"NVIDIA-H100": 0}`}
				}
			})
			s.job("j", "q", inqueue, nil, s.asking("gpu", "", newPod("p", "", cpu(1))))
			ssn := s.act(t)
			expectStatuses(t, ssn, want)
			if why := whyNot(ssn, "p"); accounting == "matching" && !strings.Contains(why, "insufficient <NVIDIA-H100> quota") {
				t.Errorf("the pod waits because %s", why)
			}
		})
	}
}

func TestWhereADeviceQuotaIsRequiredUnlistedDevicesAreRefused(t *testing.T) {
	listClass := "no queue on the way to the root lists the class, which deviceQuotaRequired demands: list it in spec.dra.capability of the queue or of a queue above it"
	quotas := map[string]schedulingv1beta1.DRAQuota{
		"ml": capability(map[string]int64{h100: 8}), "deserving": {Deserved: counts(4)}, "lost": capability(map[string]int64{"no-such-class": 1}),
	}
	for _, c := range []struct {
		accounting, queue, class, model string
		want                            string
	}{
		{"requested", "team", h100, h100, ""},
		{"requested", "team", "gpu", h100, "Queue <team> has insufficient <gpu> quota: requested <1>, total would be <1>, but capability is <0>; " + listClass},
		{"requested", "default", h100, h100, "Queue <default> has insufficient <h100> quota: requested <1>, total would be <1>, but capability is <0>; " + listClass},
		{"requested", "deserving", h100, h100, "Queue <deserving> has insufficient <h100> quota: requested <1>, total would be <1>, but capability is <0>; " + listClass},
		{"matching", "team", h100, h100, ""},
		{"matching", "team", "gpu", h100, ""},
		{"matching", "team", "gpu", "a100", "Queue <team> has no quota for devices of class <gpu>, nor for another class that such a device matches: " + listClass},
		{"matching", "team", "a100", "a100", "Queue <team> has no quota for devices of class <a100>, nor for another class that such a device matches: " + listClass},
		{"matching", "default", h100, h100, "Queue <default> has no quota for devices of class <h100>, nor for another class that such a device matches: " + listClass},
		{"matching", "deserving", h100, h100, "Queue <deserving> has no quota for devices of class <h100>, nor for another class that such a device matches: " + listClass},
		{"matching", "lost", h100, h100, "Queue <lost> has no quota for devices of class <h100>, nor for another class that such a device matches: " + listClass},
	} {
		for _, flat := range []bool{false, true} {
			if flat && c.queue == "team" {
				continue // without hierarchy, the queue has no ancestors
			}
			t.Run(fmt.Sprintf("%s, a %s for %s in %s, flat %v", c.accounting, c.model, c.class, c.queue, flat), func(t *testing.T) {
				s := newFixture(8).queue("root", "", nil).queue("default", "root", nil).queue("ml", "root", nil).queue("team", "ml", nil).queue("deserving", "root", nil).queue("lost", "root", nil)
				s.flat = flat
				s.withModels(c.accounting, quotas, map[string]string{"n1": c.model})
				s.arguments[settings.DeviceQuotaRequired] = true
				s.job("j", c.queue, inqueue, nil, s.asking(c.class, "", newPod("p", "", cpu(1))))
				node := ""
				if c.want == "" {
					node = "n1"
				}
				expectPlace(t, s.act(t), node, c.want)
			})
		}
	}
}

func TestWhereADeviceQuotaIsRequiredJobsForUnlistedDevicesAreNotEnqueued(t *testing.T) {
	for _, accounting := range []string{"requested", "matching"} {
		t.Run(accounting, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("default", "root", nil).queue("q", "root", nil)
			s.withModels(accounting, map[string]schedulingv1beta1.DRAQuota{"q": capability(map[string]int64{h100: 1})}, map[string]string{"n1": h100})
			s.arguments[settings.DeviceQuotaRequired] = true
			s.job("early", "default", pending, cpu(1), s.asking(h100, "", newPod("early", "", cpu(1))))
			s.job("listed", "q", pending, cpu(1), s.asking(h100, "", newPod("listed", "", cpu(1))))
			s.job("none", "default", pending, cpu(1), newPod("none", "", cpu(1)))
			ssn := s.open(t)
			for job, want := range map[string]bool{"early": false, "listed": true, "none": true} {
				if got := ssn.JobEnqueueable(ssn.Jobs[api.JobID("ns/"+job)]); got != want {
					t.Errorf("job %s is admitted: %v, want %v: %s", job, got, want, ssn.Jobs[api.JobID("ns/"+job)].JobFitErrors)
				}
			}
		})
	}
}

func TestAQueueIsToldThatClassesOverlap(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	s.withModels("requested", map[string]schedulingv1beta1.DRAQuota{"q": capability(map[string]int64{h100: 1})}, map[string]string{"n1": h100})
	first := s.open(t)
	devices := pluginOf(first).cache.devices
	eventually("overlaps are found", func() bool { return len(devices.Overlaps()) > 0 })
	framework.CloseSession(first)

	after := newFixture(8).queue("root", "", nil).queue("q", "root", nil)
	after.withModels("requested", nil, map[string]string{"n1": h100})
	after.cache, after.ResourceSlices, after.DeviceClasses = s.cache, s.ResourceSlices, s.DeviceClasses
	second := after.open(t)
	framework.CloseSession(second)
	expectEvent(t, first.KubeClient(), "Queue", "q", problems.ClassesOverlapReason,
		"The queue limits classes whose devices other classes have as well: devices of class h100 belong to gpu, too. A device counts only for the class that a claim asks for")
}

func TestDeviceArguments(t *testing.T) {
	for _, c := range []struct {
		given      framework.Arguments
		accounting string
		required   bool
	}{
		{nil, settings.AccountRequested, false},
		{framework.Arguments{settings.DeviceAccounting: "matching", settings.DeviceQuotaRequired: true}, settings.AccountMatching, true},
		{framework.Arguments{settings.DeviceAccounting: "requested", settings.DeviceQuotaRequired: false}, settings.AccountRequested, false},
		{framework.Arguments{settings.DeviceAccounting: "Matching", settings.DeviceQuotaRequired: "maybe"}, settings.AccountRequested, false},
		{framework.Arguments{settings.DeviceAccounting: 1}, settings.AccountRequested, false},
		{framework.Arguments{settings.DeviceAccounting: []any{"matching"}}, settings.AccountRequested, false},
	} {
		if got := readArguments(Name, c.given); got.DeviceAccounting != c.accounting || got.DeviceQuotaRequired != c.required {
			t.Errorf("%v is read as %s and %v", c.given, got.DeviceAccounting, got.DeviceQuotaRequired)
		}
	}
}
