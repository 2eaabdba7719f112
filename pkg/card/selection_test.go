// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// inZones returns a pod that requires one of some zones.
func inZones(zones ...string) *corev1.PodSpec {
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: zones}}}
	return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
	}}}
}

func TestAPodSelectsTheCardsOfSomeNodes(t *testing.T) {
	var f Fleet
	set := func(name, model, zone string) {
		f.Set(name, Read(node("nvidia.com/gpu.product="+model+" zone="+zone, "nvidia.com/gpu=8"), nil))
	}
	set("a", "A", "east")
	set("b", "B", "west")
	a := f.Select(&corev1.PodSpec{NodeSelector: map[string]string{"nvidia.com/gpu.product": "A"}})
	east, west, north, both := f.Select(inZones("east")), f.Select(inZones("west")), f.Select(inZones("north")), f.Select(inZones("east", "west"))
	for _, step := range []struct {
		name    string
		do      func()
		want    string
		recount bool
	}{
		{name: "begin", do: func() {}, want: "A A B A,B,C A,B"},
		{"a card in another zone", func() { set("b2", "B", "east") }, "A A,B B A,B,C A,B", true},
		{"more of it", func() { set("b3", "B", "east") }, "A A,B B A,B,C A,B", false},
		{"an update of a node that changes nothing", func() { set("b3", "B", "east") }, "A A,B B A,B,C A,B", false},
		{"a label of another zone", func() { set("a", "A", "west") }, "A B A,B A,B,C A,B", true},
		{"the first one of a zone", func() { set("c", "C", "north") }, "A B A,B C A,B", true},
		{"a node is gone, of several", func() { f.Remove("b3") }, "A B A,B C A,B", false},
		{"the last one is gone", func() { f.Remove("c") }, "A B A,B A,B,C A,B", true},
	} {
		generation := f.Generation()
		step.do()
		var got []string
		for _, s := range []*Selection{a, east, west, north, both} {
			got = append(got, strings.Join(s.Of([]string{"A", "B", "C"}), ","))
		}
		if text := strings.Join(got, " "); text != step.want || step.recount != (f.Generation() != generation) {
			t.Errorf("%s: pods select %s, want %s; count them anew: %t", step.name, text, step.want, f.Generation() != generation)
		}
	}
	if f.Select(inZones("east")) != east {
		t.Error("pods with the same selector have different selections")
	}
	if s := f.Select(&corev1.PodSpec{}); s != nil || !slices.Equal(s.Of([]string{"A", "B"}), []string{"A", "B"}) {
		t.Error("a pod without a selector does not select all cards")
	}
	if s := f.Select(&corev1.PodSpec{NodeSelector: map[string]string{"zone": strings.Repeat("x", maxSelectionText)}}); s != nil {
		t.Error("a selector of any length is kept")
	}
	runtime.KeepAlive([]*Selection{a, east, west, north, both})
}

func TestSelectionsOfPodsThatAreGoneAreNotKept(t *testing.T) {
	var f Fleet
	kept := map[int]*Selection{}
	selects := func(i int) *Selection { return f.Select(inZones(fmt.Sprint("zone-", i))) }
	for i := range maxSelections {
		kept[i] = selects(i)
	}
	if selects(maxSelections) != nil || selects(0) != kept[0] {
		t.Error("a fleet keeps too many selections, or does not find those that it keeps")
	}
	maps.DeleteFunc(kept, func(i int, _ *Selection) bool { return i > 0 })
	runtime.GC()
	if selects(maxSelections) == nil || selects(0) != kept[0] || len(f.selections) > 2 {
		t.Errorf("%d selections are kept of a pod that is there and a new one", len(f.selections))
	}
}
