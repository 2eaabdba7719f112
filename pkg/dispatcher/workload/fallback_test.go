// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestOfBinding(t *testing.T) {
	cpu := func(q string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(q)} }
	component := func(name string, replicas int32, class, requests string) workv1alpha2.Component {
		return workv1alpha2.Component{Name: name, Replicas: replicas, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{
			ResourceRequest: cpu(requests), PriorityClassName: class}}
	}
	required := &workv1alpha2.ReplicaRequirements{ResourceRequest: cpu("3"), PriorityClassName: "high"}
	for _, c := range []struct {
		name     string
		spec     workv1alpha2.ResourceBindingSpec
		want     string
		requests []string
	}{
		{name: "nothing to run is no workload"},
		{name: "replicas", spec: workv1alpha2.ResourceBindingSpec{Replicas: 4, ReplicaRequirements: required}, want: "Flink class=high :4/4", requests: []string{"3"}},
		{name: "replicas that require nothing", spec: workv1alpha2.ResourceBindingSpec{Replicas: 4}, want: "Flink :4/4", requests: []string{"0"}},
		{name: "no replicas now", spec: workv1alpha2.ResourceBindingSpec{ReplicaRequirements: required}, want: "Flink class=high :0/0", requests: []string{"3"}},
		{name: "a negative number is none", spec: workv1alpha2.ResourceBindingSpec{Replicas: -4, ReplicaRequirements: required}, want: "Flink class=high :0/0", requests: []string{"3"}},
		{name: "components before replicas", spec: workv1alpha2.ResourceBindingSpec{Replicas: 4, ReplicaRequirements: required,
			Components: []workv1alpha2.Component{component("manager", 1, "a", "1"), component("worker", 5, "b", "2")}}, want: "Flink manager:1/1 worker:5/5", requests: []string{"1", "2"}},
		{name: "a component that requires nothing", spec: workv1alpha2.ResourceBindingSpec{Components: []workv1alpha2.Component{{Name: "x", Replicas: 2}}}, want: "Flink x:2/2", requests: []string{"0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Resource = workv1alpha2.ObjectReference{Kind: "Flink", Namespace: "ns", Name: "w", UID: "uid", ResourceVersion: "7"}
			got := OfBinding(&workv1alpha2.ResourceBinding{Spec: c.spec})
			if got.text() != c.want {
				t.Fatalf("got %s, want %s", got.text(), c.want)
			}
			if got == nil {
				return
			}
			if !got.Fallback || got.Namespace != "ns" || got.Name != "w" || got.UID != "uid" || got.ResourceVersion != "7" {
				t.Errorf("got %+v", got)
			}
			for i, p := range got.Pods {
				if cpu := p.Template.Spec.Containers[0].Resources.Requests.Cpu(); cpu.String() != c.requests[i] {
					t.Errorf("%s requests %s, want %s", p.Name, cpu, c.requests[i])
				}
			}
		})
	}
}
