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
	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/visibility"
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

// TestAQuestionAboutManyGroupsEnds: when the time has expired, the other groups of a job are not looked at. Each of them would copy its pods.
func TestAQuestionAboutManyGroupsEnds(t *testing.T) {
	const groups = 500
	s := newFixture(2).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(nil)
	var all []*corev1.Pod
	for i := range groups {
		pod := newPod(fmt.Sprint("p", i), "", cpu(1))
		pod.Labels = map[string]string{"group": fmt.Sprint(i)}
		for range 20 {
			pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
		}
		all = append(all, pod)
	}
	s.job("j", "q", inqueue, nil, all...)
	hard := &schedulingv1.NetworkTopologySpec{Mode: schedulingv1.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(1)}
	s.PodGroups[0].Spec.SubGroupPolicy = []schedulingv1.SubGroupPolicySpec{{Name: "each", SubGroupSize: ptr.To[int32](1), MatchLabelKeys: []string{"group"}, NetworkTopology: hard}}
	ssn := s.open(t)
	job, rack := ssn.Jobs["ns/j"], &topologyv1alpha1.HyperNode{}
	if len(job.SubJobs) != groups {
		t.Fatalf("the job has %d groups", len(job.SubJobs))
	}
	rack.Name, rack.Spec.Tier = "rack", 1
	ssn.HyperNodesReadyToSchedule = true
	ssn.HyperNodes, ssn.RealNodesSet = api.HyperNodeInfoMap{"rack": api.NewHyperNodeInfo(rack)}, map[string]sets.Set[string]{"rack": sets.New("n1")}
	solver, expired := pluginOf(ssn).elastic.Solver(), func() bool { return true }
	made := testing.AllocsPerRun(1, func() {
		if answers := solver.Nearest(job, expired); answers != nil {
			t.Errorf("answers %v", answers)
		}
	})
	if made > 100*groups {
		t.Errorf("%g objects are made for %d groups", made, groups)
	}
}

// TestAQuestionPutsWhatNodesSayIntoWordsOnce, also if thousands of pods of a job were not tried because no node suits another one.
func TestAQuestionPutsWhatNodesSayIntoWordsOnce(t *testing.T) {
	const groups, nodes = 300, 100
	s := newFixture(slices.Repeat([]int{5}, nodes)...).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(nil)
	all := []*corev1.Pod{inGroup(newPod("runs", "n1", cpu(1)), "first")}
	for i := range groups {
		all = append(all, inGroup(newPod(fmt.Sprintf("p-%03d", i), "", cpu(1)), fmt.Sprint(i)))
	}
	s.job("j", "q", inqueue, nil, all...)
	s.group().MinMember = 1
	s.ofGroups(1, 0)
	ssn := s.open(t)
	ssn.Tiers = append(ssn.Tiers, conf.Tier{Plugins: []conf.PluginOption{{Name: "sla", EnabledPredicate: ptr.To(true)}}})
	ssn.AddPredicateFn("sla", func(task *api.TaskInfo, on *api.NodeInfo) error {
		return api.NewFitError(task, on, "no pod may be on "+on.Name)
	})
	s.Run((&Plugins{cache: s.cache}).Actions()[:1])
	var told *v1alpha1.Explanation
	made := testing.AllocsPerRun(1, func() {
		told, _ = pluginOf(ssn).explainer().Answer(&visibility.Question{Kind: "PodGroup", Namespace: "ns", Name: "j"})
	})
	if len(told.Pods) != 2 || made > 100*(groups+nodes) {
		t.Errorf("%g objects are made for %d groups and %d nodes, and the answer is %+v", made, groups, nodes, told.Pods)
	}
}
