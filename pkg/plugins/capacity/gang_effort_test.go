// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

// TestAGangOfPodsThatAllDifferAsksFewNodes: one after another, its pods ask few nodes, because the first or the second one gets none. The gang must not
// ask all nodes about all its pods then.
func TestAGangOfPodsThatAllDifferAsksFewNodes(t *testing.T) {
	const nodes, pods, most = 200, 500, 60_000
	for first, node := range map[string]string{"no node has room for the first pod": "none", "one node has room for either the first or the second pod": "n1"} {
		t.Run(first, func(t *testing.T) {
			s := newFixture(slices.Repeat([]int{8}, nodes)...).queue("root", "", nil).queue("q", "root", nil)
			s.withDevices(nil)
			var all []*corev1.Pod
			for p := range pods {
				cores := p + 1
				if p < 2 {
					cores += 7000
				}
				all = append(all, newPod(fmt.Sprintf("p-%03d", p), "", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(fmt.Sprintf("%dm", cores))}))
			}
			s.job("gang", "q", inqueue, nil, all...)
			ssn := s.open(t)
			var asked atomic.Int64
			ssn.Tiers = append(ssn.Tiers, conf.Tier{Plugins: []conf.PluginOption{{Name: "sla", EnabledPredicate: ptr.To(true)}}})
			ssn.AddPredicateFn("sla", func(task *api.TaskInfo, on *api.NodeInfo) error {
				asked.Add(1)
				if task.InitResreq.MilliCPU >= 7000 && on.Name != node {
					return api.NewFitError(task, on, "the pod goes to another node")
				}
				return nil
			})
			s.Run((&Plugins{cache: s.cache}).Actions()[:1])
			if asked.Load() < nodes || asked.Load() > most {
				t.Errorf("nodes were asked %d times, want %d at most", asked.Load(), most)
			}
		})
	}
}

// TestAGangPaysForWhatItsPodsAskFor: one after another, only the first pod that gets no node is read. What jobs may spend in a session limits how many are read
// together.
func TestAGangPaysForWhatItsPodsAskFor(t *testing.T) {
	const pods, atLeast = 400, 5
	s := newFixture(1, 1).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(nil)
	var all []*corev1.Pod
	for p := range pods {
		all = append(all, newPod(fmt.Sprintf("p-%03d", p), "", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(fmt.Sprintf("%dm", 1500+p))}))
	}
	s.job("gang", "q", inqueue, nil, all...)
	s.allocateAlike(t)
	if _, spent := s.cache.devices.SearchBudget().Used(); spent < pods*atLeast {
		t.Errorf("%d pods spend %d in all, want %d for each", pods, spent, atLeast)
	}
}

// TestAGangWithPodsThatNoNodeSuitsTakesTimeForEachOfThem, and not for each pair of them: its first two pods need the same node.
func TestAGangWithPodsThatNoNodeSuitsTakesTimeForEachOfThem(t *testing.T) {
	takes := func(pods int) float64 {
		s := newFixture(5, 2, 2).queue("root", "", nil).queue("q", "root", nil)
		s.withDevices(nil)
		all := []*corev1.Pod{newPod("a-0", "", cpu(3)), newPod("a-1", "", cpu(3))}
		for p := range pods {
			all = append(all, ofTask(newPod(fmt.Sprintf("p-%04d", p), "", cpu(6)), fmt.Sprint("role-", p), 0))
		}
		s.job("gang", "q", inqueue, nil, all...)
		s.group().MinMember = 2
		s.open(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.Run((&Plugins{cache: s.cache}).Actions()[:1])
		runtime.ReadMemStats(&after)
		if _, spent := s.cache.devices.SearchBudget().Used(); spent < pods*5 {
			t.Fatalf("%d was spent: the pods were not looked at together", spent)
		}
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := takes(500), takes(4000)
	if many > 12*few {
		t.Errorf("8 times as many pods take %.1f times as much memory in all", many/few)
	}
}

// TestAGroupIsNotTriedInVain: each group asks all nodes, and a user may have thousands of them.
func TestAGroupIsNotTriedInVain(t *testing.T) {
	const groups, nodes = 2000, 8
	for name, test := range map[string]struct {
		least int32
		cores func(pod int) string
	}{
		"all groups are needed":             {groups, func(pod int) string { return fmt.Sprintf("%dm", 1000+pod) }},
		"one is needed, and they are alike": {1, func(int) string { return "1" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(slices.Repeat([]int{5}, nodes)...).queue("root", "", nil).queue("q", "root", nil)
			var all []*corev1.Pod
			for p := range groups {
				pod := newPod(fmt.Sprintf("p-%04d", p), "", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.cores(p))})
				pod.Labels = map[string]string{"id": fmt.Sprint(p)}
				all = append(all, pod)
			}
			s.job("gang", "q", inqueue, nil, all...)
			s.group().MinMember = test.least
			s.group().SubGroupPolicy = []schedulingv1.SubGroupPolicySpec{{Name: "each", SubGroupSize: ptr.To[int32](1), MinSubGroups: &test.least, MatchLabelKeys: []string{"id"}}}
			ssn := s.open(t)
			var asked atomic.Int64
			ssn.Tiers = append(ssn.Tiers, conf.Tier{Plugins: []conf.PluginOption{{Name: "sla", EnabledPredicate: ptr.To(true)}}})
			ssn.AddPredicateFn("sla", func(task *api.TaskInfo, on *api.NodeInfo) error {
				asked.Add(1)
				return api.NewFitError(task, on, "no pod may be here")
			})
			s.Run((&Plugins{cache: s.cache}).Actions()[:1])
			if asked.Load() < nodes || asked.Load() > 3*nodes {
				t.Errorf("nodes were asked %d times", asked.Load())
			}
		})
	}
}
