// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/scheduling"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// TestAQuestionLooksForTheNearestHyperNodeForALimitedTime: people may ask about a large job again and again.
func TestAQuestionLooksForTheNearestHyperNodeForALimitedTime(t *testing.T) {
	const pods = 100
	s := slowCluster(2)
	var all []*corev1.Pod
	for i := range pods {
		all = append(all, s.asking("gpu", "", newPod(fmt.Sprint("p", i), "", cpu(1))))
	}
	s.job("j", "q", inqueue, nil, all...)
	ssn := s.open(t)
	job := ssn.Jobs["ns/j"]
	job.PodGroup.Spec.NetworkTopology = &scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(1)}
	ssn.HyperNodesReadyToSchedule, ssn.HyperNodes, ssn.RealNodesSet = true, api.HyperNodeInfoMap{}, map[string]sets.Set[string]{}
	for rack, nodes := range map[string]sets.Set[string]{"rack-0": sets.New("n0"), "rack-1": sets.New("n1")} {
		object := &topologyv1alpha1.HyperNode{}
		object.Name, object.Spec.Tier = rack, 1
		ssn.HyperNodes[rack], ssn.RealNodesSet[rack] = api.NewHyperNodeInfo(object), nodes
	}
	for name, c := range map[string]struct {
		lasts, asked int
		want         []eviction.Nearest
	}{
		"there is time": {1_000_000, 1_000_000, []eviction.Nearest{{HyperNode: "rack-0", Pods: 8, Waiting: pods}}},
		"it expires":    {10, 10 + pods + 4, nil},
	} {
		asked := 0
		answers := pluginOf(ssn).elastic.Solver().Nearest(job, func() bool { asked++; return asked > c.lasts })
		if !slices.Equal(answers, c.want) || asked > c.asked {
			t.Errorf("%s: answers %v, and the time was asked for %d times", name, answers, asked)
		}
	}
}
