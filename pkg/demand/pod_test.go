// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// asked lists the parts of a demand, with their alternatives.
func asked(dimensions *ledger.Dimensions, d ledger.Demand) string {
	s := ""
	for _, part := range d {
		s += "[" + text(dimensions, part.Amounts())
		for _, alternative := range part.Alternatives() {
			s += "|" + text(dimensions, alternative)
		}
		s += "]"
	}
	return s
}

func TestWhatAPodAsksFor(t *testing.T) {
	choice := claim("choice")
	choice.Spec.Devices.Requests = append(choice.Spec.Devices.Requests, firstAvailable(exactly("h200", 2), exactly("a100", 1)))
	for _, c := range []struct {
		name, cards, requests, claim string
		exempt                       bool
		// node is the node of the pod, or empty.
		node string
		// demand is the total charge of the pod. limited is checked in queues that limit cards, and open in other queues.
		demand, limited, open string
		unnamed               corev1.ResourceName
	}{
		{name: "resources only", demand: "[cpu:1]", limited: "[cpu:1]", open: "[cpu:1]"},
		{name: "a card", cards: "A", requests: "nvidia.com/gpu=2", demand: "[cpu:1][]", limited: "[cpu:1][][A:2]", open: "[cpu:1][]"},
		{name: "a choice of cards", requests: "nvidia.com/gpu=2", demand: "[cpu:1][]", limited: "[cpu:1][][|A:2|B:2]", open: "[cpu:1][]"},
		{name: "a card that the pod has", requests: "nvidia.com/gpu=2", node: "b", demand: "[cpu:1][B:2]", limited: "[cpu:1][B:2]", open: "[cpu:1][B:2]"},
		{name: "a card without a name", requests: "nvidia.com/gpu.shared=2", demand: "[cpu:1]", limited: "[cpu:1]", open: "[cpu:1]", unnamed: "nvidia.com/gpu.shared"},
		{name: "a claim", claim: "two", demand: "[cpu:1][a100:2]", limited: "[cpu:1][a100:2]", open: "[cpu:1][a100:2]"},
		{
			name: "a claim with a choice", claim: "choice", demand: "[cpu:1][]", limited: "[cpu:1][][|h200:2|a100:1]", open: "[cpu:1][][|h200:2|a100:1]",
		},
		{
			name: "a card and a claim", cards: "A", requests: "nvidia.com/gpu=2", claim: "choice", demand: "[cpu:1][][]",
			limited: "[cpu:1][][][A:2][|h200:2|a100:1]", open: "[cpu:1][][][|h200:2|a100:1]",
		},
		{name: "cpu of a pod with cards is not checked", cards: "A", requests: "nvidia.com/gpu=2", exempt: true, demand: "[cpu:1][]", limited: "[][][A:2]", open: "[][]"},
		{name: "nor that of a pod with claims", claim: "two", exempt: true, demand: "[cpu:1][a100:2]", limited: "[][a100:2]", open: "[][a100:2]"},
		{
			name: "nor that of a pod with cards without a name", requests: "nvidia.com/gpu.shared=2", exempt: true, unnamed: "nvidia.com/gpu.shared",
			demand: "[cpu:1]", limited: "[]", open: "[]",
		},
		{name: "but that of a pod that only names a card is", cards: "A", exempt: true, demand: "[cpu:1][]", limited: "[cpu:1][]", open: "[cpu:1][]"},
		{name: "and that of a pod with a claim for nothing", claim: "nothing", exempt: true, demand: "[cpu:1][]", limited: "[cpu:1][]", open: "[cpu:1][]"},
		{name: "and that of a pod with administrative access", claim: "admin", exempt: true, demand: "[cpu:1][]", limited: "[cpu:1][]", open: "[cpu:1][]"},
		{name: "and that of any other pod", exempt: true, demand: "[cpu:1]", limited: "[cpu:1]", open: "[cpu:1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.reader.claims["two"], f.reader.claims["choice"] = claim("two", exactly("a100", 2)), choice
			admin := exactly("a100", 2)
			admin.AdminAccess = ptr.To(true)
			f.reader.claims["nothing"], f.reader.claims["admin"] = claim("nothing"), claim("admin", admin)
			f.Configure(Options{CardUnlimitedCPUMemory: c.exempt}, Serving{})
			p := object("p", c.cards, c.requests)
			if c.claim != "" {
				p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim", ResourceClaimName: ptr.To(c.claim)}}
			}
			pod := f.count(p)
			if c.node != "" {
				f.assign(pod, c.node)
			}
			for _, got := range []struct{ what, got, want string }{
				{"is charged", asked(f.Dimensions, pod.Demand), c.demand},
				{"asks for, where cards are limited,", asked(f.Dimensions, pod.Asked(true)), c.limited},
				{"asks for, where they are not,", asked(f.Dimensions, pod.Asked(false)), c.open},
			} {
				if got.got != got.want {
					t.Errorf("the pod %s %s, want %s", got.what, got.got, got.want)
				}
			}
			own := 1
			if pod.Cards != nil {
				own = 2
			}
			if len(pod.Own()) != own || pod.UnnamedCards != c.unnamed || pod.Err != nil {
				t.Errorf("%d parts are the pod's own, want %d; cards without a name: %q, want %q; error %v", len(pod.Own()), own, pod.UnnamedCards, c.unnamed, pod.Err)
			}
		})
	}
}

func TestWhyAPodCannotBeCounted(t *testing.T) {
	f := newFixture(t)
	p := object("p", "A B", "nvidia.com/gpu=1")
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim", ResourceClaimName: ptr.To("lost")}}
	pod := f.count(p)
	if pod.Err == nil || pod.Err.Error() != pod.cardsErr.Error() {
		t.Errorf("the pod says %v, want what is wrong with its cards, which comes first", pod.Err)
	}
	if pod = f.count(unnamed(p)); pod.Err == nil || pod.Err.Error() != "ResourceClaim ns/lost does not exist: create it or correct the name" {
		t.Errorf("the pod says %v, want what is wrong with its claim", pod.Err)
	}
	f.reader.claims["lost"] = claim("lost", exactly("a100", 1))
	f.begin()
	if f.Refresh(pod); pod.Err != nil || len(pod.Claims) != 1 {
		t.Errorf("once the claim exists, the pod has %d claims and says %v", len(pod.Claims), pod.Err)
	}
}

// unnamed is the pod without its annotation.
func unnamed(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.Annotations = nil
	return p
}

func TestWants(t *testing.T) {
	f := newFixture(t)
	f.reader.claims["c"], f.reader.claims["held"] = claim("c", exactly("a100", 1)), on(claim("held", exactly("h200", 1)), "big")
	p := pod("c", "held")
	for class, want := range map[string]bool{"a100": true, "h200": false, "h100": false} {
		if got := f.count(p).Wants(class); got != want {
			t.Errorf("the pod wants devices of %s: %t", class, got)
		}
	}
}
