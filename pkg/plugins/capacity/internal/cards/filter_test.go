// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"strings"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// models has four nodes: with cards A, with cards B, with cards that its labels do not name, and without cards.
var models = []string{"a", "b", "unnamed", "none"}

func newModels(t *testing.T, quota string) *fixture {
	return newFixture(t, quota, nil, node("a", "A", "nvidia.com/gpu=8 nvidia.com/mig-1g=2"), node("b", "B", "nvidia.com/gpu=8"), node("unnamed", "", "nvidia.com/gpu=8"), node("none", "", "cpu=8"))
}

func TestFilter(t *testing.T) {
	const noA = "Queue <q> has insufficient <A> quota: requested <2>, total would be <3>, but capability is <2>"
	const noB = "Queue <q> has insufficient <B> quota: requested <2>, total would be <2>, but capability is <0>"
	const unnamed = "offers nvidia.com/gpu, but its labels do not say which card that is, and the queue limits cards"
	for _, c := range []struct {
		name, pod, requests string
		// quota is the quota of the queue. held is what it already holds. Without a quota, its cards are not limited.
		quota, held string
		// holders are the nodes on which pods of the queue hold cards.
		holders string
		// want has the refusal of each node, in the order of models. A refusal that no eviction helps ends with an exclamation mark.
		want [4]string
	}{
		{name: "cards are not limited", requests: "nvidia.com/gpu=2"},
		{name: "a name binds the pod to nodes that have it", pod: "B", requests: "nvidia.com/gpu=2", want: [4]string{"has no card B!", "", "has no card B!", "has no card B!"}},
		{name: "several names do, too", pod: "B|A", requests: "nvidia.com/gpu=2", want: [4]string{"", "", "has no card B or A!", "has no card B or A!"}},
		{name: "the quota allows one of two cards", requests: "nvidia.com/gpu=2", quota: "A=2", want: [4]string{"", noB + "!", unnamed + "!"}},
		{
			name: "no pod on the node holds the card that is used up", requests: "nvidia.com/gpu=2", quota: "A=2", held: "A=1",
			want: [4]string{noA + "!", noB + "!", unnamed + "!"},
		},
		{
			name: "a pod on the node holds it", requests: "nvidia.com/gpu=2", quota: "A=2", held: "A=1", holders: "a",
			want: [4]string{noA, noB + "!", unnamed + "!"},
		},
		{
			name: "what is short is no card, so that any eviction helps", requests: "nvidia.com/gpu=2 cpu=3", quota: "A=2 B=2 cpu=2",
			want: [4]string{
				"Queue <q> has insufficient <cpu> quota: requested <3>, total would be <3>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota",
				"Queue <q> has insufficient <cpu> quota: requested <3>, total would be <3>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota", unnamed + "!",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newModels(t, c.quota)
			if f.charge(c.held); c.holders != "" {
				f.holders[c.holders] = true
			}
			pod := f.pod(c.pod, c.requests)
			var state State
			if c.quota != "" {
				state = f.preFilter(pod)
			}
			for i, name := range models {
				if got := text(f.session.Filter(f.books, state, pod, api.NewNodeInfo(f.nodes[name]))); got != c.want[i] {
					t.Errorf("node %s: %q, want %q", name, got, c.want[i])
				}
			}
		})
	}
}

func text(refusal *report.NodeRefusal) string {
	switch {
	case refusal == nil:
		return ""
	case refusal.Unresolvable:
		return refusal.Message + "!"
	default:
		return refusal.Message
	}
}

func TestFilterChecksResourcesOfOneCardTogether(t *testing.T) {
	for _, c := range []struct{ name, quota, want string }{
		{"room for both", "A=4", ""},
		{"room for each of them", "A=3", "Queue <q> has insufficient <A> quota: requested <4>, total would be <4>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.quota, card.ResourceNames{"nvidia.com/gpu", "nvidia.com/vgpu"}, node("a", "A", "nvidia.com/gpu=8 nvidia.com/vgpu=8"))
			pod := f.pod("", "nvidia.com/gpu=2 nvidia.com/vgpu=2")
			if got := text(f.session.Filter(f.books, f.preFilter(pod), pod, api.NewNodeInfo(f.nodes["a"]))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if on := f.session.On(pod, f.nodes["a"]).Of(f.amounts("A=1")[0].Dimension); on.String() != "4" {
				t.Errorf("on the node the pod would be charged %s cards, want 4", on)
			}
		})
	}
}

func TestFilterRefusesACardThatCameAfterThePodWasCounted(t *testing.T) {
	f := newModels(t, "A=2")
	pod := f.pod("", "nvidia.com/gpu=1")
	state := f.preFilter(pod)
	f.fleet.Set("a", card.Read(node("a", "C", "nvidia.com/gpu=8"), nil))
	if got, want := text(f.session.Filter(f.books, state, pod, api.NewNodeInfo(f.nodes["a"]))), "has no card that the pod names for nvidia.com/gpu!"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, pod, requests string
		quota               string
		// assigned says that the pod has a node.
		assigned     bool
		want, others string
	}{
		{name: "the card of which the queue may use any", requests: "nvidia.com/gpu=2", quota: "B=1", want: "B", others: "A"},
		{name: "the card that the pod prefers, if there are several", pod: "B|A", requests: "nvidia.com/gpu=2", quota: "A=1 B=1", want: "B", others: "A"},
		{name: "no card at all", requests: "nvidia.com/gpu=2", quota: "C=1", want: "A", others: "B"},
		{name: "a pod without a choice", pod: "B", requests: "nvidia.com/gpu=2", quota: "A=1", want: "B"},
		{name: "a card is allowed, so that something else is refused", requests: "nvidia.com/gpu=1 nvidia.com/mig-1g=1", quota: "B=1", want: "A"},
		{name: "what is short is no card", requests: "nvidia.com/gpu=1 cpu=3", quota: "A=1 cpu=2", want: "cpu"},
		{name: "a pod that has a node", requests: "nvidia.com/gpu=2", quota: "B=1", assigned: true, want: "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newModels(t, c.quota)
			pod := f.pod(c.pod, c.requests)
			state := f.preFilter(pod)
			refused, err := f.books.Fits(pod.Queue, pod.Asked(true))
			if err != nil || refused == nil {
				t.Fatalf("the ledger says %v, %v", refused, err)
			}
			if c.assigned {
				must(t, pod.Cards.Assign(f.books, f.fleet.Node("a"), nil))
			}
			if got, others := state.Explain(pod, refused); got.Dimension.Name != c.want || strings.Join(others, " ") != c.others {
				t.Errorf("explained by %s, others %q, want %s, others %q", got.Dimension.Name, others, c.want, c.others)
			}
			if got, others := State(nil).Explain(pod, refused); got != refused || others != nil {
				t.Errorf("without limits it is explained by %s and others %q", got.Dimension.Name, others)
			}
		})
	}
}

func TestScore(t *testing.T) {
	for _, c := range []struct {
		name, pod, requests string
		// want has the score of each node, in the order of models.
		want [4]float64
	}{
		{name: "no cards"},
		{name: "no names", requests: "nvidia.com/gpu=1"},
		{name: "each name counts half as much as the one before", pod: "B|A", requests: "nvidia.com/gpu=1", want: [4]float64{100, 200}},
		{name: "names that no node has count, too", pod: "X|B|A", requests: "nvidia.com/gpu=1", want: [4]float64{50, 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newModels(t, "A=2")
			pod := f.pod(c.pod, c.requests)
			for i, name := range models {
				if got := f.session.Score(pod, name); got != c.want[i] {
					t.Errorf("node %s scores %g, want %g", name, got, c.want[i])
				}
			}
		})
	}
}
