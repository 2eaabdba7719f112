// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// holding gives a pod on node n1 a claim with n devices of stocked, from the given device on.
func (s *fixture) holding(first, n int, p *corev1.Pod) *corev1.Pod {
	s.claimed(n, p)
	claim := s.ResourceClaims[len(s.ResourceClaims)-1]
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		result.Driver, result.Pool, result.Device = "driver", "n1", "gpu-"+string(rune('a'+first+i))
	}
	return p
}

// TestPodsArePipelinedOnlyWhereTheirDevicesWillBe: node n1 has four devices. Pods low-0 and low-1 have two each.
func TestPodsArePipelinedOnlyWhereTheirDevicesWillBe(t *testing.T) {
	for _, c := range []struct {
		name    string
		devices int
		quota   int64
		reclaim bool
		want    string
		promise int64
		// reason says why a pod waits that is not pipelined.
		reason string
	}{
		{name: "preempt: one pod makes room for two devices", devices: 2, quota: 4, want: "high:Pipelined low-0:Running low-1:Releasing", promise: 2},
		{name: "preempt: both pods make room for four devices", devices: 4, quota: 4, want: "high:Pipelined low-0:Releasing low-1:Releasing", promise: 4},
		{name: "preempt: no node has that many devices", devices: 5, quota: 9, want: "high:Pending low-0:Running low-1:Running", reason: report.NeverFitsReason},
		{name: "preempt: no node has that many devices, and the quota would need victims", devices: 5, quota: 6, want: "high:Pending low-0:Running low-1:Running", reason: "InsufficientScalarQuota"},
		{name: "preempt: the quota needs fewer victims than the node", devices: 3, quota: 5, want: "high:Pipelined low-0:Releasing low-1:Releasing", promise: 3},
		{name: "reclaim: one pod makes room for two devices", devices: 2, quota: 4, reclaim: true, want: "high:Pipelined low-0:Running low-1:Releasing", promise: 2},
		{name: "reclaim: both pods make room for four devices", devices: 4, quota: 4, reclaim: true, want: "high:Pipelined low-0:Releasing low-1:Releasing", promise: 4},
		{name: "reclaim: no node has that many devices", devices: 5, quota: 8, reclaim: true, want: "high:Pending low-0:Running low-1:Running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).queue("lender", "root", reclaimable).stocked(4)
			s.prioritized()
			holds := "q"
			if c.reclaim {
				holds = "lender"
			}
			s.withDevices(map[string]schedulingv1beta1.DRAQuota{
				"q": {Capability: counts(c.quota), Deserved: counts(c.quota)}, "lender": {Deserved: counts(0)},
			})
			for i := range 2 {
				name := fmt.Sprint("low-", i)
				s.job(name, holds, running, nil, withPriority(s.holding(2*i, 2, newPod(name, "n1", cpu(1))), int32(1-i)))
			}
			s.job("high", "q", inqueue, nil, withPriority(s.claimed(c.devices, newPod("high", "", cpu(1))), 100))
			ssn := s.act(t)
			expectStatuses(t, ssn, c.want)
			p := pluginOf(ssn)
			if c.reason != "" {
				if refusal := p.placements.Refusal(taskOf(ssn, "high")); refusal == nil || refusal.Reason() != c.reason {
					t.Errorf("the pod is told %v, want the reason %s", refusal, c.reason)
				}
			}
			if got := balanceOfQueue(p, "q", ledger.Pipelined); got != ledger.Units(c.promise) {
				t.Errorf("%s devices are promised, want %d", got, c.promise)
			}
			if got := p.snapshot.Held().Balance(idOfQueue(p, "root"), ledger.Allocated, p.snapshot.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: h100})); got != ledger.Units(4) {
				t.Errorf("%s devices are held, want 4", got)
			}
		})
	}
}

func idOfQueue(p *plugin, name string) ledger.QueueID {
	queue, _ := p.snapshot.Ledger.Queue(name)
	return queue
}

// TestPromisedDevicesGoToNobodyElse: two pods are pipelined to a node with leaving pods that have three devices.
func TestPromisedDevicesGoToNobodyElse(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(4).withDevices(nil)
	s.job("goes", "q", running, nil, s.holding(0, 3, newPod("goes", "n1", cpu(1))))
	for name, n := range map[string]int{"first": 2, "second": 2, "third": 1} {
		s.job(name, "q", inqueue, nil, s.claimed(n, newPod(name, "", cpu(1))))
	}
	ssn := s.open(t)
	statement := framework.NewStatement(ssn)
	must(t, statement.Evict(taskOf(ssn, "goes"), "test"))
	pipeline := func(name string) error {
		if err := ssn.PrePredicateFn(taskOf(ssn, name)); err != nil {
			return err
		}
		return statement.Pipeline(taskOf(ssn, name), "n1", true)
	}
	for _, name := range []string{"first", "second"} {
		if err := pipeline(name); err != nil {
			t.Errorf("%s cannot be pipelined: %v", name, err)
		}
	}
	third := taskOf(ssn, "third")
	if err := pipeline("third"); err == nil {
		t.Error("five devices of four are promised")
	}
	must(t, statement.UnPipeline(third))
	if err := ssn.PredicateFn(third, ssn.Nodes["n1"]); err == nil {
		t.Error("a device that is promised is handed out")
	}
	statement.Discard()
	must(t, ssn.PrePredicateFn(third))
	if err := ssn.PredicateFn(third, ssn.Nodes["n1"]); err != nil {
		t.Errorf("after all is undone, the free device cannot be used: %v", err)
	}
}
