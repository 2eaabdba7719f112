// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// accepting is a PreFilter that accepts all pods.
type accepting struct{ k8sframework.PreFilterPlugin }

func (accepting) PreFilter(context.Context, fwk.CycleState, *corev1.Pod, []fwk.NodeInfo) (*k8sframework.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// volumeSession asks the nodes of a cluster about pods, as a session does.
type volumeSession struct {
	claims boundClaims
	node   fwk.NodeInfo
	nodes  int
}

func newVolumeSession(nodes int) *volumeSession {
	factory := limitedDisks()
	core, node := factory.Core().V1(), k8sframework.NewNodeInfo()
	node.SetNode(&corev1.Node{})
	return &volumeSession{nodes: nodes, node: node, claims: boundClaims{accepting{}, core.PersistentVolumeClaims().Lister(), &existingVolumes{
		FilterPlugin: &asked{}, volumes: core.PersistentVolumes().Lister(), classes: factory.Storage().V1().StorageClasses().Lister(), effort: &effort{},
	}}}
}

// asks reports whether nodes were asked about a pod with this number of claims.
func (s *volumeSession) asks(namespace, job string, claims int) bool {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: job}}}
	for i := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, podWith("", fmt.Sprint("c", i)).Spec.Volumes...)
	}
	state := k8sframework.NewCycleState()
	if _, status := s.claims.PreFilter(context.Background(), state, pod, nil); !status.IsSuccess() {
		return false
	}
	for range s.nodes {
		s.claims.volumes.Filter(context.Background(), state, pod, s.node)
	}
	return true
}

// TestPodsWithVeryManyVolumesTakeTurns: upstream's plugins look up each claim of a pod for each node, in each cycle.
func TestPodsWithVeryManyVolumesTakeTurns(t *testing.T) {
	s, tried := newVolumeSession(100), map[string]bool{}
	for session := range 6 {
		s.claims.volumes.effort.next()
		asked := 0
		for job := range 30 {
			if name := fmt.Sprint("j", job); s.asks("many", name, 256) {
				asked, tried[name] = asked+1, true
			}
		}
		if most := effortOfSession/256/s.nodes + 1 + turnsOfSession; asked > most {
			t.Errorf("session %d: nodes are asked about %d pods, want at most %d", session, asked, most)
		}
		if !s.asks("few", "ordinary", ordinaryClaims) {
			t.Error("a pod with an ordinary number of volumes waits for a turn")
		}
		if s.asks("few", "large", ordinaryClaims+1) {
			tried["large"] = true
		} else if session > 1 && !tried["large"] {
			t.Error("the job of another namespace has had no turn")
		}
	}
	if len(tried) < 2+5*turnsOfSession {
		t.Errorf("%d jobs have had a turn in 6 sessions", len(tried))
	}
}

func TestALargeGangGetsItsTurn(t *testing.T) {
	s, sessions := newVolumeSession(100), 0
	gang := func(pods int) int {
		s.claims.volumes.effort.next()
		asked := 0
		for asked < pods && s.asks("ns", "gang", 100) {
			asked++
		}
		return asked
	}
	if got := gang(200); got != effortOfSession/100/s.nodes {
		t.Errorf("at first, nodes are asked about %d pods, want what a session has for all", got)
	}
	if got := gang(200); got != effortOfJob/100/s.nodes {
		t.Errorf("when it has its turn, nodes are asked about %d pods, want what a job may have", got)
	}
	most := 0
	for ; sessions < 20 && most < 200; sessions++ {
		most = max(most, gang(200))
	}
	if most < 200 {
		t.Errorf("in %d sessions, nodes are asked about %d pods at most, want all", sessions, most)
	}
}
