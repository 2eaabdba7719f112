// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// TestPodsThatAskForTheSameShareAnAnswer. Pods of another queue, or with another claim, do not.
func TestPodsThatAskForTheSameShareAnAnswer(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100"}, claims: []*resourceapi.ResourceClaim{
		large("c", 3, 4, "h100"), large("d", 3, 4, "h100"), large("e", 3, 5, "h100"), large("f", 3, 4, "h100"),
	}})
	for _, c := range []struct {
		pod, queue, claim string
		searched          bool
	}{{"p0", "q", "c", true}, {"p1", "q", "d", false}, {"p2", "q", "e", true}, {"p3", "r", "f", true}} {
		refusal, searched := f.filter(f.preFilter(f.pod(c.pod, c.queue, c.claim)), "n1")
		if refusal == nil || searched != c.searched {
			t.Errorf("pod %s: %+v, searched: %t, want %t", c.pod, refusal, searched, c.searched)
		}
	}
}

// TestManyUnfinishedSearchesComeToAnEnd: each node gets the effort of the pod once.
func TestManyUnfinishedSearchesComeToAnEnd(t *testing.T) {
	const nodes = 8
	has := cluster{devices: map[string]string{}, quotas: map[string]string{"q": "h100=3 a100=3"}, claims: []*resourceapi.ResourceClaim{large("c", 8, 1, "h100", "a100")}}
	for n := range nodes {
		has.devices[fmt.Sprint("n", n)] = strings.Repeat("h100 a100 ", 8)
	}
	f := newFixture(t, has)
	var searched int
	for range 2 * nodes {
		f.open()
		state := f.preFilter(f.pod("p", "q", "c"))
		searched = 0
		for n := range nodes {
			refusal, again := f.filter(state, fmt.Sprint("n", n))
			if refusal == nil {
				t.Fatal("a node is suitable")
			}
			if again {
				searched++
			}
		}
	}
	if searched > 0 {
		t.Errorf("%d nodes are searched in the last session", searched)
	}
}

// TestSeveralGoroutinesRemember: Volcano filters several nodes in parallel.
func TestSeveralGoroutinesRemember(t *testing.T) {
	const nodes = 16
	has := cluster{devices: map[string]string{}, claims: []*resourceapi.ResourceClaim{large("c", 3, 4, "h100")}}
	for n := range nodes {
		has.devices[fmt.Sprint("n", n)] = "h100 h100"
	}
	f := newFixture(t, has)
	for range 3 {
		f.open()
		state := f.preFilter(f.pod("p", "q", "c"))
		var filtering sync.WaitGroup
		for n := range nodes {
			node := f.node(fmt.Sprint("n", n))
			filtering.Go(func() {
				if f.session.Filter(state, node) == nil {
					t.Errorf("node %s is suitable", node.Name)
				}
			})
		}
		filtering.Wait()
	}
	if known := f.remembered("p"); known == nil || len(known.nodes) != 2*nodes {
		t.Errorf("remembered: %+v", known)
	}
}

// TestAnUnfinishedSearchIsRememberedWithItsReason: the same search with the same effort would end at the same point.
func TestAnUnfinishedSearchIsRememberedWithItsReason(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": strings.Repeat("h100 a100 ", 31)}, quotas: map[string]string{"q": "h100=15 a100=15"},
		claims: []*resourceapi.ResourceClaim{large("c", 31, 1, "h100", "a100")},
	})
	before, was, _ := f.again("p", "n1", "c")
	now, refusal, searched := f.again("p", "n1", "c")
	if searched || was == nil || refusal == nil || *refusal != *was || messageOf(now.Refusal()) != messageOf(before.Refusal()) {
		t.Errorf("searched: %t; %+v, want %+v; the pod is told %q, want %q", searched, refusal, was, messageOf(now.Refusal()), messageOf(before.Refusal()))
	}
	if _, late := now.Refusal().(report.SearchUnfinished); !late {
		t.Errorf("the search ended: %q", messageOf(now.Refusal()))
	}
}

// TestWhatIsPromisedIsNotRememberedAsTaken: in the next session, the device may not be promised.
func TestWhatIsPromisedIsNotRememberedAsTaken(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100 h100 h100"}, claims: []*resourceapi.ResourceClaim{
		large("c", 3, 4, "h100"), claim("x", exactly("h100", 3)),
	}})
	f.try(f.session.Promise(f.preFilter(f.pod("x", "q", "x")), f.node("n1"), nil))
	if refusal, _ := f.filter(f.preFilter(f.pod("p", "q", "c")), "n1"); refusal == nil {
		t.Fatal("the devices that are promised are free")
	}
	if _, refusal, _ := f.again("p", "n1", "c"); refusal != nil {
		t.Errorf("in the next session: %+v", refusal)
	}
}
