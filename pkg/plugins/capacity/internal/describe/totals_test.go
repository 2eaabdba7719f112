// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
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

// TestDevicesAreCountedOverSeveralSessions, if it takes long to find the devices of a class.
func TestDevicesAreCountedOverSeveralSessions(t *testing.T) {
	var counted []string
	s := &Session{Time: time.Unix(1000, 0), Snapshot: &snapshot.Snapshot{Cache: snapshot.NewCache(&card.Fleet{})}}
	classes := []*resourceapi.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}, {ObjectMeta: metav1.ObjectMeta{Name: "c"}}}
	s.Snapshot.Catalog = dra.NewCatalog(classes, nil)
	s.Places = Places{Fleet: &card.Fleet{}, Devices: func(class string) (dra.Supplies, error) {
		counted = append(counted, class)
		time.Sleep(mostTime)
		return dra.Supplies{OnNode: map[string]dra.Supply{"n": {Total: int64(len(counted))}}}, nil
	}}
	var cluster Cluster
	for session := range 5 {
		if did := s.Count(&cluster, time.Second); did != (session < 3) || len(counted) != min(session+1, 3) || len(cluster.Totals) != len(counted) {
			t.Errorf("after session %d, the devices of %v are counted, and there are %d totals: %t", session, counted, len(cluster.Totals), did)
		}
	}
	s.Time = s.Time.Add(time.Second)
	before := cluster.Totals
	if s.Count(&cluster, time.Second); len(counted) != 4 || len(cluster.Totals) != 3 || slices.ContainsFunc(before, func(t v1alpha1.Total) bool { return t.Total.Value() == 4 }) {
		t.Errorf("a second later, %v are counted: %v, before %v", counted, cluster.Totals, before)
	}
}
