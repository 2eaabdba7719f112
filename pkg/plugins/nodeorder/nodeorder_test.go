// SPDX-License-Identifier: Apache-2.0

package nodeorder

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestTheAffinityOfAPodIsParsedOnce: nodes score as with upstream's plugin, and a change of the object between two nodes is not seen.
func TestTheAffinityOfAPodIsParsedOnce(t *testing.T) {
	options.Default()
	alloc := api.BuildResourceList("8", "8Gi", api.ScalarResource{Name: "pods", Value: "10"})
	scores := func(builder framework.PluginBuilder, change bool) (all []float64) {
		pod := util.BuildPod("ns", "p", "", corev1.PodPending, api.BuildResourceList("1", "1Gi"), "group", nil, nil)
		term := &corev1.PreferredSchedulingTerm{Weight: 5, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{*term}}}
		c := &uthelper.TestCommonStruct{
			Plugins: map[string]framework.PluginBuilder{Name: builder}, Pods: []*corev1.Pod{pod}, Queues: []*schedulingv1beta1.Queue{util.BuildQueue("q", 1, nil)},
			Nodes:     []*corev1.Node{util.BuildNode("n1", alloc, map[string]string{"zone": "a"}), util.BuildNode("n2", alloc, map[string]string{"zone": "b"})},
			PodGroups: []*schedulingv1beta1.PodGroup{util.BuildPodGroup("group", "ns", "q", 1, nil, schedulingv1beta1.PodGroupInqueue)},
		}
		session := c.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledNodeOrder: ptr.To(true)}}}}, nil)
		defer c.Close()
		for _, job := range session.Jobs {
			for _, task := range job.Tasks {
				for _, node := range []string{"n1", "n2"} {
					score, err := session.NodeOrderFn(task, session.Nodes[node])
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, score)
					if change {
						task.Pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions[0].Values = []string{"b"}
					}
				}
			}
		}
		return all
	}
	want := scores(nodeorder.New, false)
	if len(want) != 2 || want[0] == want[1] {
		t.Fatalf("upstream scores %v", want)
	}
	if got := scores(New, true); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the nodes score %v, want %v", got, want)
	}
}

// TestServicesDoNotSpreadPods: with upstream's plugin, a pod goes where no other pod of its Service is.
func TestServicesDoNotSpreadPods(t *testing.T) {
	options.Default()
	alloc := api.BuildResourceList("8", "8Gi", api.ScalarResource{Name: "pods", Value: "10"})
	scores := func(builder framework.PluginBuilder, constraints ...corev1.TopologySpreadConstraint) map[string]float64 {
		labels := map[string]string{"app": "web"}
		pod := util.BuildPod("ns", "p", "", corev1.PodPending, api.BuildResourceList("1", "1Gi"), "group", labels, nil)
		pod.Spec.TopologySpreadConstraints = constraints
		other := util.BuildPod("ns", "other", "n1", corev1.PodRunning, api.BuildResourceList("1", "1Gi"), "group", labels, nil)
		node := func(name string) *corev1.Node {
			return util.BuildNode(name, alloc, map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: name})
		}
		c := &uthelper.TestCommonStruct{
			Plugins: map[string]framework.PluginBuilder{Name: builder}, Pods: []*corev1.Pod{pod, other}, Queues: []*schedulingv1beta1.Queue{util.BuildQueue("q", 1, nil)},
			Nodes: []*corev1.Node{node("n1"), node("n2")}, PodGroups: []*schedulingv1beta1.PodGroup{util.BuildPodGroup("group", "ns", "q", 1, nil, schedulingv1beta1.PodGroupInqueue)},
		}
		session := c.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledNodeOrder: ptr.To(true)}}}}, nil)
		defer c.Close()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels}}
		if err := session.InformerFactory().Core().V1().Services().Informer().GetIndexer().Add(service); err != nil {
			t.Fatal(err)
		}
		for _, job := range session.Jobs {
			for _, task := range job.TaskStatusIndex[api.Pending] {
				all, err := session.BatchNodeOrderFn(task, session.NodeList)
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
		}
		t.Fatal("no pod waits")
		return nil
	}
	if all := scores(nodeorder.New); all["n1"] >= all["n2"] {
		t.Fatalf("upstream scores %v", all)
	}
	if all := scores(New); all["n1"] != all["n2"] {
		t.Errorf("the nodes score %v", all)
	}
	spread := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	if got, want := scores(New, spread), scores(nodeorder.New, spread); !maps.Equal(got, want) || got["n1"] >= got["n2"] {
		t.Errorf("with a constraint of its own, the nodes score %v, upstream %v", got, want)
	}
}
