// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// inadmissibleGang is a cluster with a gang of queue q. One pod of it could get a device that queue r uses. The other pod asks for a class
// without devices, and for more cpu than the node has.
func inadmissibleGang(minimum int32, needs ...*corev1.Pod) *fixture {
	s := slowCluster(1)
	s.job("elsewhere", "r", running, nil, newPod("elsewhere", "n0", cpu(1)))
	s.busy(1, 8)
	s.job("j", "q", inqueue, nil, append([]*corev1.Pod{s.asking("gpu", "", newPod("p", "", cpu(1)))}, needs...)...)
	s.PodGroups[len(s.PodGroups)-1].Spec.MinMember = minimum
	return s
}

// TestWhatCouldNeverStartIsAskedAgainWhenItCould, and not when something else has changed.
func TestWhatCouldNeverStartIsAskedAgainWhenItCould(t *testing.T) {
	s := inadmissibleGang(2)
	s.Pods = append(s.Pods, s.asking("a100", "", newPod("never", "", cpu(1))))
	s.Pods[len(s.Pods)-1].Annotations[scheduling.KubeGroupNameAnnotationKey] = "j"
	t.Cleanup(framework.CleanupPluginBuilders)
	scheduler := s.filled(t)
	// asked runs a session, and returns its number of searches for victims.
	asked := func() int {
		s.whole(scheduler)
		return s.cache.elastic.Searches()
	}
	eventually := func(what string, is func() bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil }); err != nil {
			t.Fatal(what)
		}
	}
	eventually("no victims are looked for", func() bool { return asked() > 0 })
	eventually("the job is not remembered as one that never starts", func() bool { return asked() == 0 })
	elsewhere := s.Pods[slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return p.Name == "elsewhere" })]
	scheduler.DeletePod(elsewhere)
	if n := asked(); n != 0 {
		t.Errorf("a pod has ended elsewhere, and victims were looked for %d times", n)
	}
	slice := s.ResourceSlices[0].DeepCopy()
	slice.ResourceVersion = "2"
	slice.Spec.Devices = append(slice.Spec.Devices, slice.Spec.Devices[0])
	slice.Spec.Devices[len(slice.Spec.Devices)-1].Name = "more"
	if _, err := scheduler.Client().ResourceV1().ResourceSlices().Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually("a slice has changed, and no victims are looked for", func() bool { return asked() > 0 })
	asked()
	node := s.Nodes[0].DeepCopy()
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2000")
	node.ResourceVersion = "2"
	if err := scheduler.AddOrUpdateNode(node); err != nil {
		t.Fatal(err)
	}
	if asked() == 0 {
		t.Error("a node has more cpu, and no victims are looked for")
	}
}

// TestWhatMayStartWithoutSomePodsIsNotTakenForInadmissible: the minimum of the job does not need the pod that never starts.
func TestWhatMayStartWithoutSomePodsIsNotTakenForInadmissible(t *testing.T) {
	for _, minimum := range []int32{1, 2} {
		s := inadmissibleGang(minimum, newPod("never", "", cpu(100_000)))
		p := pluginOf(s.open(t))
		job := p.session.Jobs["ns/j"]
		for _, task := range job.Tasks {
			_ = p.session.PrePredicateFn(task)
		}
		if got := p.elastic.StartsNever(job); got != (minimum == 2) {
			t.Errorf("with a minimum of %d, the job never starts: %t", minimum, got)
		}
	}
}
