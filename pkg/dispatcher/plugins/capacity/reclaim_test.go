// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

func TestWhoMustGo(t *testing.T) {
	ml := queue("ml", "cpu=10")
	a, b := queue("a", "parent=ml", "deserved:cpu=5"), queue("b", "parent=ml", "deserved:cpu=5")
	reclaims := with("reclaim: true")
	h20 := func(name string, number string, words ...string) thing {
		return queue(name, append(words, "parent=gpus", "deserved-cards={\"NVIDIA-H20\": "+number+"}")...)
	}
	gpuQueue := queue("gpus", `cards={"NVIDIA-H20": 8}`)
	for name, c := range map[string]struct {
		things []thing
		// want has the victims for workload w, sorted.
		want string
	}{
		"a queue that has more than it deserves": {[]thing{ml, a, b, job("x", "b", 4, granted), job("y", "b", 5, granted), job("w", "a", 5)}, "x"},
		"only as many as are needed":             {[]thing{ml, a, b, job("x", "b", 2, granted), job("y", "b", 2, granted), job("z", "b", 6, granted), job("w", "a", 2)}, "y"},
		"several":                                {[]thing{ml, a, b, job("x", "b", 2, granted), job("y", "b", 2, granted), job("z", "b", 6, granted), job("w", "a", 4)}, "x y"},
		"the lower priority goes":                {[]thing{ml, a, b, job("x", "b", 5, granted), job("y", "b", 5, granted, priority("high")), job("w", "a", 5)}, "x"},
		"the younger goes":                       {[]thing{ml, a, b, job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5)}, "y"},
		"others keep what they deserve":          {[]thing{ml, a, b, job("x", "b", 10, granted), job("w", "a", 5)}, ""},
		"nobody takes more than is deserved":     {[]thing{ml, a, b, job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 6)}, ""},
		"others have what they deserve":          {[]thing{ml, a, b, job("v", "a", 5, granted), job("y", "b", 5, granted), job("w", "a", 1)}, ""},
		"the guarantee is kept":                  {[]thing{ml, a, queue("b", "parent=ml", "deserved:cpu=4", "guarantee:cpu=4"), job("x", "b", 3, granted), job("y", "b", 7, granted), job("w", "a", 5)}, ""},
		"a queue that is not reclaimable":        {[]thing{ml, a, queue("b", "parent=ml", "deserved:cpu=5", "keeps"), job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5)}, ""},
		"nobody deserves anything":               {[]thing{ml, queue("a", "parent=ml"), queue("b", "parent=ml"), job("x", "b", 10, granted), job("w", "a", 5)}, ""},
		"not in the same queue":                  {[]thing{ml, a, job("x", "a", 10, granted), job("w", "a", 5)}, ""},
		"what leaves is enough":                  {[]thing{ml, a, b, job("x", "b", 5, returns), job("y", "b", 5, granted), job("w", "a", 5)}, ""},
		"what leaves counts":                     {[]thing{ml, a, b, job("x", "b", 2, returns), job("y", "b", 3, granted), job("z", "b", 5, granted), job("w", "a", 5)}, "y"},
		"what is deleted leaves":                 {[]thing{ml, a, b, job("x", "b", 5, deleting), job("y", "b", 5, granted), job("w", "a", 5)}, ""},
		"never in vain":                          {[]thing{queue("ml", "cpu=10"), queue("a", "parent=ml", "deserved:cpu=5", "memory=1"), b, job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5, memory)}, ""},
		"nor for a closed queue":                 {[]thing{ml, queue("a", "parent=ml", "deserved:cpu=5", "closed"), b, job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5)}, ""},
		"nor for what the queue forbids":         {[]thing{class("h100"), ml, a, b, limitsMemory("a", "h100"), job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5, func(w *framework.Workload) { requestDevices(w, "h100") })}, ""},
		"a queue whose quota cannot be read":     {[]thing{gpuQueue, h20("a", "4"), h20("b", "8,"), job("x", "b", 4, granted, gpus("")), job("y", "b", 4, granted, gpus("")), job("w", "a", 4, gpus(""))}, ""},
		"for growth":                             {[]thing{ml, a, b, job("x", "b", 4, granted), job("y", "b", 5, granted), job("w", "a", 4, grows(1))}, "x"},
		"across branches":                        {[]thing{ml, queue("l", "parent=ml", "deserved:cpu=5"), queue("a", "parent=l"), queue("r", "parent=ml", "deserved:cpu=5"), queue("b", "parent=r"), job("x", "b", 5, granted), job("y", "b", 5, granted), job("w", "a", 5)}, "y"},
		"cards":                                  {[]thing{gpuQueue, h20("a", "4"), h20("b", "4"), job("x", "b", 4, granted, gpus("")), job("y", "b", 4, granted, gpus("")), job("w", "a", 4, gpus(""))}, "y"},
		"cards of others are not taken for cpus": {[]thing{ml, a, queue("b", "parent=ml", "deserved:cpu=2", `deserved-cards={"NVIDIA-H20": 4}`), queue("c", "parent=ml"), job("x", "b", 6, granted), job("y", "c", 4, granted), job("w", "a", 4)}, "y"},
		"the pods of a group free the rest only": {[]thing{ml, a, b, podGroup("g", "b", 8, granted), job("x", "b", 4, granted, inGroup("g")), job("y", "b", 2, granted), job("w", "a", 2)}, "y"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(append([]thing{reclaims}, c.things...)...)
			_, p := s.open(t)
			if got := names(p.reclaim.victims(s.workload("w"))); got != c.want {
				t.Errorf("%q must go, want %q", got, c.want)
			}
		})
	}
}

func deleting(w *framework.Workload) { granted(w); w.State.Deleting = true }

func memory(w *framework.Workload) {
	requests := w.Template.Pods[0].Template.Spec.Containers[0].Resources.Requests
	requests["memory"] = requests["cpu"]
}

func names(workloads []*framework.Workload) string {
	var all []string
	for _, w := range workloads {
		all = append(all, w.Binding.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestWhatLeavesIsPromisedOnce(t *testing.T) {
	s := newScene(with("reclaim: true"), queue("ml", "cpu=10"), queue("a", "parent=ml", "deserved:cpu=6"), queue("b", "parent=ml", "deserved:cpu=4"),
		job("x", "b", 3, granted), job("y", "b", 3, returns), job("z", "b", 4, granted), job("w", "a", 3), job("v", "a", 3), job("u", "a", 3))
	_, p := s.open(t)
	for _, step := range []struct{ asker, want string }{
		{"w", ""},  // y leaves
		{"v", "x"}, // the room of y is for w
		{"u", ""},  // no queue may lose more
		{"u", ""},
	} {
		if got := names(p.reclaim.victims(s.workload(step.asker))); got != step.want {
			t.Errorf("%q must go for %s, want %q", got, step.asker, step.want)
		}
	}
}

func TestNothingIsTakenBackUnlessConfigured(t *testing.T) {
	s := newScene(queue("ml", "cpu=10"), queue("a", "parent=ml", "deserved:cpu=5"), queue("b", "parent=ml"), job("x", "b", 10, granted), job("w", "a", 5))
	session, _ := s.open(t)
	if victims := session.Reclaimable(s.workload("w")); victims != nil {
		t.Errorf("%s must go", names(victims))
	}
}

func TestASessionTriesABoundedNumberOfVictims(t *testing.T) {
	things := []thing{with("reclaim: true"), queue("ml", "cpu=800"), queue("b", "parent=ml", "deserved:cpu=1")}
	for i := range 200 {
		things = append(things, job(fmt.Sprintf("x%d", i), "b", 4, granted))
	}
	for i := range 20 {
		name := fmt.Sprintf("a%d", i)
		things = append(things, queue(name, "parent=ml", "deserved:cpu=30"))
		for j := range 20 {
			things = append(things, job(fmt.Sprintf("w%d-%d", i, j), name, 1+int64(j%7)))
		}
	}
	s := newScene(things...)
	_, p := s.open(t)
	found := 0
	for _, w := range s.workloads {
		if w.Waits() {
			found += len(p.reclaim.victims(w))
		}
	}
	most := effortOfAll + effortOfQueue // the last question is finished
	if found == 0 || p.reclaim.spent > most {
		t.Errorf("%d victims were found with an effort of %d, want some, and at most %d", found, p.reclaim.spent, most)
	}
}
