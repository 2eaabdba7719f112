// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

func TestWhoAllocatesDevices(t *testing.T) {
	on := map[string]any{predicates.DynamicResourceAllocationEnable: true}
	for _, c := range []struct {
		name    string
		plugins []conf.PluginOption
		want    bool
	}{
		{"capacity and predicates with devices", []conf.PluginOption{{Name: "capacity"}, {Name: Name, Arguments: on}}, true},
		{"predicates without devices", []conf.PluginOption{{Name: "capacity"}, {Name: Name}}, false},
		{"no capacity", []conf.PluginOption{{Name: "proportion"}, {Name: Name, Arguments: on}}, false},
		{"no predicates", []conf.PluginOption{{Name: "capacity"}}, false},
	} {
		if got := LeavesDevicesTo([]conf.Tier{{Plugins: c.plugins}}, "capacity", "capacity-card"); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestAffinityIsParsedOnce for all nodes and actions of a session.
func TestAffinityIsParsedOnce(t *testing.T) {
	affinity, err := nodeaffinity.New(t.Context(), &config.NodeAffinityArgs{}, nil, feature.Features{})
	if err != nil {
		t.Fatal(err)
	}
	upstream := &predicates.PredicatesPlugin{
		FilterPlugins:    map[string]k8sframework.FilterPlugin{nodeaffinity.Name: affinity.(k8sframework.FilterPlugin)},
		PrefilterPlugins: map[string]k8sframework.PreFilterPlugin{},
	}
	prefilterNodeAffinity(upstream, &effort{})
	state, pod := k8sframework.NewCycleState(), &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}}
	var parsed [2]fwk.StateData
	for i := range parsed {
		if err := upstream.PrePredicate(&api.TaskInfo{Pod: pod}, state, nil); err != nil {
			t.Fatal(err)
		}
		if parsed[i], err = state.Read("PreFilterNodeAffinity"); err != nil {
			t.Fatal(err)
		}
	}
	if parsed[0] != parsed[1] {
		t.Error("the second action parses the affinity again")
	}
}
