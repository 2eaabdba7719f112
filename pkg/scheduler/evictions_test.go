// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// slowEvictor evicts pods when it gets an answer.
type slowEvictor struct {
	answer chan error
	failed func(*corev1.Pod)
}

func (e slowEvictor) Evict(pod *corev1.Pod, _ string) error {
	err := <-e.answer
	if err != nil {
		e.failed(pod)
	}
	return err
}

// TestAPodThatChangesWhileItIsEvictedIsLeaving: sessions would evict another pod in its place, despite a PodDisruptionBudget.
func TestAPodThatChangesWhileItIsEvictedIsLeaving(t *testing.T) {
	counted := newPodsFixture(t, wholePod("p", "n1"))
	slow := slowEvictor{make(chan error), counted.evictions.failed}
	counted.Evictor = slow
	if err := counted.Evict(counted.Snapshot().Jobs["ns/job"].Tasks["p"], "reclaim"); err != nil {
		t.Fatal(err)
	}
	kube := counted.Client().CoreV1().Pods("ns")
	pod, err := kube.Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Labels = map[string]string{"changes": "always"}
	if _, err := kube.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache takes the pod for one that is leaving", func() bool {
		counted.Lock()
		defer counted.Unlock()
		task := counted.Jobs["ns/job"].Tasks["p"]
		return task.Pod.Labels != nil && api.PreemptableStatus(task.Status)
	})
	expect := func(status api.TaskStatus, leaving float64) bool {
		snapshot := counted.Snapshot()
		job, node := snapshot.Jobs["ns/job"], snapshot.Nodes["n1"]
		return job.TaskStatusIndex[status]["p"] != nil && node.Tasks["ns/p"].Status == status &&
			node.Releasing.MilliCPU == leaving && node.Used.MilliCPU == 2000 && node.Idle.MilliCPU == 2000
	}
	for range 2 {
		if !expect(api.Releasing, 2000) {
			t.Error("a pod that is being evicted is not leaving")
		}
	}
	slow.answer <- errors.New("it is not evicted")
	eventually(t, "a pod that is not evicted is leaving", func() bool { return expect(api.Running, 0) })

	if err := counted.Evict(counted.Snapshot().Jobs["ns/job"].Tasks["p"], "reclaim"); err != nil {
		t.Fatal(err)
	}
	slow.answer <- nil
	if err := kube.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an eviction is remembered of a pod that is gone", func() bool {
		counted.Snapshot()
		return len(counted.evictions.tasks) == 0
	})
}
