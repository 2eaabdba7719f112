// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
)

func TestTotals(t *testing.T) {
	places := Places{
		Fleet: &card.Fleet{},
		Devices: func(string) (dra.Supplies, error) {
			return dra.Supplies{
				OnNode: map[string]dra.Supply{"open": {Total: 8, Free: 2, Tainted: 1}, "closed": {Total: 4, Free: 3}},
				InPool: map[dra.PoolID]dra.Supply{{Driver: "gpu.example.com", Name: "fabric"}: {Total: 3, Free: 3}},
			}, nil
		},
	}
	for name, closed := range map[string]bool{"open": false, "closed": true} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": "L4"}}, Spec: corev1.NodeSpec{Unschedulable: closed}}
		node.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "cpu": resource.MustParse("2500m")}
		places.Nodes = append(places.Nodes, api.NewNodeInfo(node))
		places.Fleet.Set(name, card.Read(node, nil))
	}
	for name, c := range map[string]struct {
		sum  total
		want string
	}{
		"devices":                    {places.devices("h100"), "15 total, 6 used, 5 free, 2 on one node"},
		"cards":                      {places.card("L4"), "16 total, 0 used, 8 free, 8 on one node"},
		"cpu":                        {places.resource("cpu"), "5 total, 0 used, 2500m free, 2500m on one node"},
		"a resource that no one has": {places.resource("example.com/none"), ""},
	} {
		got := ""
		for _, all := range c.sum.appendTo(nil, v1alpha1.Card, name) {
			got = all.Total.String() + " total, " + all.Used.String() + " used, " + all.Free.String() + " free, " + all.LargestFree.String() + " on one node"
		}
		if got != c.want {
			t.Errorf("of %s there is %q, want %q", name, got, c.want)
		}
	}
}
