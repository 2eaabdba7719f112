// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
)

func TestSuitableNodesComeFirstAndRareAnswersAreOne(t *testing.T) {
	nodes := Nodes{answers: []v1alpha1.NodesAnswer{{Count: 1, Suitable: true}}}
	for i := range MaxAnswers + 5 {
		nodes.answers = append(nodes.answers, v1alpha1.NodesAnswer{Count: int32(i + 1), Message: fmt.Sprint("reason ", i)})
	}
	answers := nodes.Answers()
	if len(answers) != MaxAnswers || !answers[0].Suitable || answers[1].Count != MaxAnswers+5 {
		t.Fatalf("the answers are %+v", answers)
	}
	if last := answers[MaxAnswers-1]; last.Message != "<7> other reasons" || last.Count != 1+2+3+4+5+6+7 {
		t.Errorf("the last answer is %+v", last)
	}
}

func TestRareReasonsOfPodsAreOne(t *testing.T) {
	for _, reasons := range []int{MaxAnswers, MaxAnswers + 5} {
		var pods Pods
		for i := range reasons {
			for range i + 1 {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i)}}
				pods.Add(&api.TaskInfo{Pod: pod, TransactionContext: api.TransactionContext{Status: api.Pending}}, v1alpha1.Refusal{Message: fmt.Sprint("reason ", i)})
			}
		}
		answers := pods.Answers()
		if len(answers) != MaxAnswers || answers[0].Count != int32(reasons) {
			t.Fatalf("with %d reasons, the answers are %+v", reasons, answers)
		}
		last := answers[MaxAnswers-1]
		if reasons == MaxAnswers && (last.Cause.Message != "reason 0" || last.Count != 1) {
			t.Errorf("the last answer is %+v", last)
		}
		if reasons > MaxAnswers && (last.Cause.Message != "<6> other reasons" || last.Count != 1+2+3+4+5+6 || last.Example.Name != "pod-5") {
			t.Errorf("the last of too many answers is %+v", last)
		}
	}
}

func TestDevicesAreCountedOnNodesAndInPools(t *testing.T) {
	s := Supplies{Places: describe.Places{Devices: func(class string) (dra.Supplies, error) {
		if class == "unknown" {
			return dra.Supplies{}, errors.New("not read yet")
		}
		return dra.Supplies{
			OnNode: map[string]dra.Supply{"n1": {Free: 1, Total: 4}, "n2": {Free: 2, Total: 2}, "n3": {Total: 8, Tainted: 8}},
			InPool: map[dra.PoolID]dra.Supply{{Driver: "gpu.example.com", Name: "fabric"}: {Free: 2, Total: 3, Shared: 1}},
		}, nil
	}}}
	for _, class := range []string{"unknown", "h100", "h100"} {
		s.addDevices(class, 2)
	}
	want := v1alpha1.Supply{
		Dimension: v1alpha1.Dimension{Kind: v1alpha1.Device, Name: "h100"}, Asked: 2, Free: 5, Total: 17, Nodes: 3, NodesWithEnough: 1,
		Places: []v1alpha1.Place{
			{Pool: "gpu.example.com/fabric", Free: 2, Total: 3, Shared: 1}, {Node: "n2", Free: 2, Total: 2}, {Node: "n1", Free: 1, Total: 4}, {Node: "n3", Total: 8, Tainted: 8},
		},
	}
	if got := s.sorted(); fmt.Sprint(got) != fmt.Sprint([]v1alpha1.Supply{want}) {
		t.Errorf("the devices are %+v, want %+v", got, want)
	}
}

func TestAnExplanationHasSomeOfManySuppliesAndPlaces(t *testing.T) {
	s := Supplies{Places: describe.Places{Devices: func(string) (dra.Supplies, error) {
		found := dra.Supplies{OnNode: map[string]dra.Supply{}}
		for i := range 3 * MaxPlaces {
			found.OnNode[fmt.Sprint("n", i)] = dra.Supply{Free: int64(i), Total: 100}
		}
		return found, nil
	}}}
	for i := range 2 * maxSupplies {
		s.addDevices(fmt.Sprint("class-", i), 1)
	}
	got := s.sorted()
	if len(got) != maxSupplies {
		t.Fatalf("there are %d supplies, want %d", len(got), maxSupplies)
	}
	if first := got[0]; len(first.Places) != MaxPlaces || first.MorePlaces != 2*MaxPlaces || first.Nodes != 3*MaxPlaces || first.Places[0].Free != 3*MaxPlaces-1 {
		t.Errorf("the first one is %+v", first)
	}
}

func TestOfAlternativesTheOneCountsThatAsksForMost(t *testing.T) {
	claim := func(usage dra.Usage) *demand.Claim {
		return &demand.Claim{Object: &resourceapi.ResourceClaim{}, Usage: usage}
	}
	allocated := claim(dra.Usage{Devices: []dra.Devices{{Class: "a100", Count: 1}}})
	allocated.Object.Status.Allocation = &resourceapi.AllocationResult{}
	pod := &demand.Pod{Claims: []*demand.Claim{
		allocated,
		claim(dra.Usage{Devices: []dra.Devices{{Class: "h100", Count: 2}, {Class: "huge", Count: math.MaxInt64}, {Class: "huge", Count: 1}}}),
		claim(dra.Usage{Choices: [][]dra.Devices{{{Class: "h100", Count: 1}, {Class: "h100", Count: 3}, {Class: "b200", Count: 1}}}}),
	}}
	if got, want := fmt.Sprint(classesAskedBy(pod)), fmt.Sprint(map[string]int64{"h100": 5, "b200": 1, "huge": math.MaxInt64}); got != want {
		t.Errorf("the pod asks for %s, want %s", got, want)
	}
}
