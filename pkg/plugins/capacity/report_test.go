// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/refusals"
	"volcano.sh/volcano/pkg/scheduler/framework"
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
			client, job := ssn.KubeClient(), ssn.Jobs[task.Job]
			p := pluginOf(ssn)
			p.report()
			if got := job.NodesFitErrors[task.UID]; got == nil || !strings.Contains(got.Error(), c.message) {
				t.Errorf("the pod's condition would say %v", got)
			}
			framework.CloseSession(ssn)
			expectEvent(t, client, "Pod", "late", c.reason, c.message)
			expectEvent(t, client, "PodGroup", "early", c.reason, c.message)
		})
	}
}

// TestNewsAreToldOnce: a pod that waits for a day has one event, not one for each cycle.
func TestNewsAreToldOnce(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", capped(1))
	s.job("early", "q", pending, cpu(2), newPod("early", "", cpu(2))).job("late", "q", inqueue, nil, newPod("late", "", cpu(2)))
	ssn := s.act(t)
	p := pluginOf(ssn)
	events := &counter{}
	p.cache.report.Recorder = events
	for range 5 {
		p.report()
	}
	if events.n != 3 {
		t.Errorf("%d events for a PodGroup and two pods that are refused again and again, want 3", events.n)
	}
}
