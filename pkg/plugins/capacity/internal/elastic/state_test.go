// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
)

// DRA's offers on a node change without a new version of the node, and a device plugin may list as many devices as DRA served.
func TestTheStateOfANodeFollowsWhatDRAServes(t *testing.T) {
	one := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	info := api.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "7"}, Status: corev1.NodeStatus{Allocatable: one, Capacity: one}})
	h := NewCache()
	listed := h.stateOfNode(info)
	served := info.Node.DeepCopy()
	served.Annotations = map[string]string{dra.ServedAnnotation: "nvidia.com/gpu"}
	info.SetNode(served)
	if h.stateOfNode(info) == listed {
		t.Error("the state is the same, whether a device plugin or DRA serves the resource")
	}
	info.SetNode(info.Node.DeepCopy())
	info.Node.Annotations = map[string]string{"heartbeat": "1"}
	if h.stateOfNode(info) != listed {
		t.Error("the state is another one, although nothing that decides has changed")
	}
}
