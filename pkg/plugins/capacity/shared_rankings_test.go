// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/drf"

	"github.com/devicequota/devicequota/pkg/settings"
)

// asked places pods, and returns how often nodes were asked whether they suit one.
func (s *fixture) asked(t *testing.T, actions ...framework.Action) int64 {
	t.Helper()
	s.extra = append(s.extra, conf.PluginOption{Name: drf.PluginName, EnabledPredicate: ptr.To(true)})
	s.tiers()
	s.Plugins[drf.PluginName] = drf.New
	ssn := s.open(t)
	var asked atomic.Int64
	ssn.AddPredicateFn(drf.PluginName, func(*api.TaskInfo, *api.NodeInfo) error { asked.Add(1); return nil })
	s.Run(append(actions, (&Plugins{cache: s.cache}).Actions()[0]))
	return asked.Load()
}

// equalPods is a cluster of 20 nodes with 8 cores, in which 40 pods of 3 cores wait, each in a job of its own.
func equalPods(change func(i int, pod *corev1.Pod)) *fixture {
	s := newFixture(slices.Repeat([]int{8}, 20)...).queue("q", "root", nil)
	for i := range 40 {
		pod := newPod(fmt.Sprint("p", i), "", cpu(3))
		change(i, pod)
		s.job(fmt.Sprint("job", i), "q", inqueue, nil, pod)
	}
	return s
}

// TestAJobWithGroupsKeepsNobodyFromSharingAnswers: upstream's action asks 20 nodes for its pod.
func TestAJobWithGroupsKeepsNobodyFromSharingAnswers(t *testing.T) {
	s := equalPods(func(int, *corev1.Pod) {})
	s.job("groups", "q", inqueue, nil, newPod("grouped", "", cpu(1)))
	s.PodGroups[40].Spec.SubGroupPolicy = []schedulingv1beta1.SubGroupPolicySpec{{Name: "by-app", MatchLabelKeys: []string{"app"}}}
	if got := s.asked(t); got < 20+20 || got > 20+20+40+1 {
		t.Errorf("nodes were asked %d times, want %d to %d", got, 20+20, 20+20+40+1)
	}
}

func TestOnlyNodesThatHaveChangedAreAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments framework.Arguments
		change    func(i int, pod *corev1.Pod)
		// least and most bound how often nodes are asked.
		least, most int64
	}{
		// The first pod asks all nodes. For each other pod, the node of the pod before is asked. A node with two pods has not enough cores, which costs no question.
		{"equal pods", nil, func(int, *corev1.Pod) {}, 20, 20 + 40},
		{"the argument switches it off", framework.Arguments{settings.Incremental: false}, func(int, *corev1.Pod) {}, 20 * 20, 20 * 40},
		{"two kinds of pods", nil, func(i int, pod *corev1.Pod) { pod.Spec.Containers[0].Image = fmt.Sprint("image", i%2) }, 2 * 20, 2 * (20 + 40)},
		{"no two pods are equal", nil, func(i int, pod *corev1.Pod) { pod.Spec.Containers[0].Image = fmt.Sprint("image", i) }, 20 * 20, 20 * 40},
		{"pods with affinity to others", nil, func(_ int, pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
		}, 20 * 20, 20 * 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := equalPods(c.change)
			s.arguments = c.arguments
			if got := s.asked(t); got < c.least || got > c.most {
				t.Errorf("nodes were asked %d times, want %d to %d", got, c.least, c.most)
			}
		})
	}
}
