// SPDX-License-Identifier: Apache-2.0

package nodeorder

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// TestScoresAreThoseOfUpstream compares the scores of nodes with those of upstream's plugin, for all arguments, and for pods with and without what they are about.
func TestScoresAreThoseOfUpstream(t *testing.T) {
	options.Default()
	nodes := func() []*corev1.Node {
		large := util.BuildNode("large", api.BuildResourceList("64", "64Gi", api.ScalarResource{Name: "pods", Value: "10"}, api.ScalarResource{Name: "nvidia.com/gpu", Value: "8"}), map[string]string{"zone": "a"})
		small := util.BuildNode("small", api.BuildResourceList("8", "32Gi", api.ScalarResource{Name: "pods", Value: "10"}), map[string]string{"zone": "b"})
		large.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.example.com/main:v1"}, SizeBytes: 900 << 20}}
		return []*corev1.Node{large, small}
	}
	scores := func(builder framework.PluginBuilder, arguments map[string]any, change func(*corev1.Pod)) map[string]float64 {
		pod := util.BuildPod("ns", "p", "", corev1.PodPending, api.BuildResourceList("2", "1Gi"), "group", nil, nil)
		change(pod)
		other := util.BuildPod("ns", "other", "large", corev1.PodRunning, api.BuildResourceList("3", "30Gi"), "group", nil, nil)
		c := &uthelper.TestCommonStruct{
			Plugins: map[string]framework.PluginBuilder{Name: builder}, Pods: []*corev1.Pod{pod, other}, Queues: []*schedulingv1beta1.Queue{util.BuildQueue("q", 1, nil)},
			Nodes: nodes(), PodGroups: []*schedulingv1beta1.PodGroup{util.BuildPodGroup("group", "ns", "q", 1, nil, schedulingv1beta1.PodGroupInqueue)},
		}
		session := c.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledNodeOrder: ptr.To(true), Arguments: arguments}}}}, nil)
		defer c.Close()
		task, all := session.Jobs["ns/group"].Tasks[api.TaskID(pod.UID)], map[string]float64{}
		for name, node := range session.Nodes {
			score, err := session.NodeOrderFn(task, node)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = score
		}
		return all
	}
	pods := map[string]func(*corev1.Pod){
		"that asks for cpu and memory": func(*corev1.Pod) {},
		"that asks for nothing":        func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{} },
		"that prefers a zone": func(pod *corev1.Pod) {
			in := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
				{Weight: 5, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{in}}},
			}}}
		},
		"whose image a node has": func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "registry.example.com/main:v1" },
	}
	weights := []string{nodeorder.LeastRequestedWeight, nodeorder.MostRequestedWeight, nodeorder.BalancedResourceWeight, nodeorder.NodeAffinityWeight, nodeorder.ImageLocalityWeight}
	for name, change := range pods {
		t.Run("a pod "+name, func(t *testing.T) {
			differ := false
			for _, weight := range weights {
				arguments := map[string]any{weight: 7}
				want, got := scores(nodeorder.New, arguments, change), scores(New, arguments, change)
				if len(want) != 2 || !maps.Equal(got, want) {
					t.Errorf("with %v, the nodes score %v, want %v", arguments, got, want)
				}
				differ = differ || want["large"] != want["small"]
			}
			if !differ {
				t.Error("the nodes never differ")
			}
		})
	}
}
