// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// TestThatTheQuotaRefusesDevicesIsRemembered as long as the standing of the queue is the same.
func TestThatTheQuotaRefusesDevicesIsRemembered(t *testing.T) {
	for _, c := range []struct {
		name               string
		quota              string
		used               string
		searched, suitable bool
		// shared says whether the allocated claim of the pod is charged, before and now. cards has the cards of the pod on the node.
		shared [2]bool
		cards  [2]string
	}{
		{name: "nothing changes", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi"},
		{name: "the allocated claim stays charged", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi", shared: [2]bool{true, true}},
		{name: "the allocated claim is not charged any more", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi", shared: [2]bool{true, false}, searched: true},
		{name: "the allocated claim is charged now", quota: "h100/memory=2400Gi", used: "h100/memory=400Gi", shared: [2]bool{false, true}, searched: true, suitable: true},
		{name: "the pod gets the same cards", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi", cards: [2]string{"h100=1", "h100=1"}},
		{name: "the pod gets other cards", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi", cards: [2]string{"h100=1", "h100=2"}, searched: true},
		{name: "another dimension changes", quota: "h100/memory=2400Gi a100=1", used: "h100/memory=560Gi", searched: true},
		{name: "pods of the queue are gone", quota: "h100/memory=2400Gi", searched: true, suitable: true},
		{name: "pods of the queue have come", quota: "h100/memory=2400Gi", used: "h100/memory=600Gi", searched: true},
		{name: "the capability is higher", quota: "h100/memory=3000Gi", used: "h100/memory=560Gi", searched: true, suitable: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask := claim("c")
			for i := range 24 {
				request := exactly("h100", 1)
				request.Name = fmt.Sprint("r", i)
				ask.Spec.Devices.Requests = append(ask.Spec.Devices.Requests, request)
			}
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": strings.Repeat("h100 ", 25)}, quotas: map[string]string{"q": "h100/memory=2400Gi"},
				claims: []*resourceapi.ResourceClaim{ask, on("n1", claim("shared", exactly("h100", 1)), "h100-24")},
			})
			filter := func(now int, used string) (*State, *report.NodeRefusal, bool) {
				f.open()
				q, _ := f.books.Queue("q")
				f.try(f.books.Charge(q, "others", ledger.Demand{ledger.NewPart(f.amounts(used))}))
				names := []string{"c"}
				if c.shared != [2]bool{} {
					names = append(names, "shared")
				}
				if c.shared[now] {
					f.try(f.books.Charge(q, "shared", ledger.Demand{f.counter.Claims.Of(f.claim("shared")).Part}))
				}
				if c.cards[now] != "" {
					f.session.CardsOn = func(*demand.Pod, *corev1.Node) *ledger.Part { return ledger.NewPart(f.amounts(c.cards[now])) }
				}
				state := f.preFilter(f.pod("p", "q", names...))
				refusal, searched := f.filter(state, "n1")
				return state, refusal, searched
			}
			before, refusal, searched := filter(0, "h100/memory=560Gi")
			if refusal == nil || !searched || before.Refusal() == nil {
				t.Fatalf("at first: %+v, searched: %t", refusal, searched)
			}
			f.specs[1].Capability = f.amounts(c.quota)
			now, refusal, searched := filter(1, c.used)
			if searched != c.searched || (refusal == nil) != c.suitable {
				t.Errorf("%+v, want suitable: %t; searched: %t, want %t", refusal, c.suitable, searched, c.searched)
			}
			if !c.searched && messageOf(now.Refusal()) != messageOf(before.Refusal()) {
				t.Errorf("the quota says %q, want %q", messageOf(now.Refusal()), messageOf(before.Refusal()))
			}
		})
	}
}
