// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// TestALargeGangThatFitsInNoHyperNodeTakesNoLongerThanASmallOne: its pods all differ, and no evictions give any of them a place.
func TestALargeGangThatFitsInNoHyperNodeTakesNoLongerThanASmallOne(t *testing.T) {
	const nodes, pods = 40, 300
	hard := &schedulingv1.NetworkTopologySpec{Mode: schedulingv1.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(1)}
	for name, shape := range map[string]func(*schedulingv1.PodGroupSpec){
		"of one group": func(spec *schedulingv1.PodGroupSpec) { spec.NetworkTopology = hard },
		"of many groups": func(spec *schedulingv1.PodGroupSpec) {
			spec.NetworkTopology = hard
			spec.SubGroupPolicy = []schedulingv1.SubGroupPolicySpec{{Name: "each", SubGroupSize: ptr.To[int32](1), MatchLabelKeys: []string{"id"}, NetworkTopology: hard}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := slowCluster(nodes)
			s.busy(nodes, 8)
			for n := range nodes {
				kept := newPod(fmt.Sprint("kept", n), fmt.Sprint("n", n), cpu(990))
				kept.Annotations["volcano.sh/preemptable"] = "false"
				s.job(kept.Name, "r", running, nil, kept)
			}
			var all []*corev1.Pod
			for i := range pods {
				pod := s.asking("gpu", "", newPod(fmt.Sprint("p", i), "", cpu(100)))
				pod.Labels = map[string]string{"id": fmt.Sprint(i)}
				all = append(all, pod)
			}
			s.alone("gang", all...)
			shape(&s.PodGroups[len(s.PodGroups)-1].Spec)
			ssn := s.open(t)
			ssn.HyperNodesReadyToSchedule, ssn.HyperNodes, ssn.RealNodesSet = true, api.HyperNodeInfoMap{}, map[string]sets.Set[string]{}
			for n := range nodes {
				rack := &topologyv1alpha1.HyperNode{}
				rack.Name, rack.Spec.Tier = fmt.Sprint("rack-", n), 1
				ssn.HyperNodes[rack.Name], ssn.RealNodesSet[rack.Name] = api.NewHyperNodeInfo(rack), sets.New(fmt.Sprint("n", n))
			}
			solver := pluginOf(ssn).elastic.Solver()
			if plan := solver.Plan(eviction.Reclaim, ssn.Jobs["ns/gang"]); plan != nil {
				t.Fatalf("%d pods would be evicted", len(plan.Victims))
			}
			if spent, most := solver.Spent(), 60_000; spent == 0 || spent > most {
				t.Errorf("the effort is %d, want %d at most", spent, most)
			}
		})
	}
}
