// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// TestWhatIsUsedAgain: users write jobs with groups of pods, and pods with an affinity, of which each copy takes long to make.
func TestWhatIsUsedAgain(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)))
	w.copies.every = 1 << 20
	w.must(w.cache.AddOrUpdateNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}))
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "group"}}
	group.Spec.SubGroupPolicy, group.Spec.Queue = byRole(), "queue"
	w.cache.AddPodGroupV1beta1(group)
	w.cache.Queues["queue"] = api.NewQueueInfo(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "queue"}})
	pods := make([]*corev1.Pod, 3)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("pod", i), UID: types.UID(fmt.Sprint(i)), Labels: map[string]string{"role": "0"}}}
		pods[i].Annotations = map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: "group"}
		pods[i].Spec.NodeName, pods[i].Spec.SchedulerName, pods[i].Spec.Affinity, pods[i].Status.Phase = "node", "volcano", besideItself(), corev1.PodRunning
		w.cache.AddPod(pods[i])
	}
	open := func() (*api.JobInfo, map[*corev1.Pod]any) {
		session := w.copies.Open(unplugged{w.cache, w.copies}, nil, nil)
		defer framework.CloseSession(session)
		infos := map[*corev1.Pod]any{}
		for _, info := range session.NodeMap["node"].GetPods() {
			infos[info.GetPod()] = info
		}
		return session.Jobs["ns/group"], infos
	}
	job, before := open()
	if again, _ := open(); again != job || len(job.SubJobs) != 1 {
		t.Errorf("a job with %d groups of pods that has not changed is copied again", len(job.SubJobs))
	}
	changed := pods[0].DeepCopy()
	changed.ResourceVersion = "2"
	w.cache.UpdatePod(pods[0], changed)
	switch _, after := open(); {
	case len(after) != len(pods) || after[changed] == nil:
		t.Errorf("the view has %d pods, or lacks the one that has changed", len(after))
	case after[pods[1]] != before[pods[1]] || after[pods[2]] != before[pods[2]]:
		t.Error("the affinity of pods that have not changed is parsed again")
	}
}
