// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

func TestStrandedWorkloadsAreThoseThatWait(t *testing.T) {
	withoutQueue := func(name string, phase schedulingv1beta1.PodGroupPhase, pods ...*corev1.Pod) report.WithoutQueue {
		group := &schedulingv1beta1.PodGroup{Status: schedulingv1beta1.PodGroupStatus{Phase: phase}}
		group.Name, group.Spec.Queue = name, "gone"
		return report.WithoutQueue{Group: group, Pods: pods}
	}
	s := Session{Snapshot: &snapshot.Snapshot{}}
	described := map[string]string{}
	for _, w := range s.Workloads(nil, []report.WithoutQueue{
		withoutQueue("new", ""), withoutQueue("pending", schedulingv1beta1.PodGroupPending), withoutQueue("inqueue", schedulingv1beta1.PodGroupInqueue, &corev1.Pod{}),
		withoutQueue("grows", schedulingv1beta1.PodGroupRunning, &corev1.Pod{}), withoutQueue("runs", schedulingv1beta1.PodGroupRunning), withoutQueue("completed", schedulingv1beta1.PodGroupCompleted),
	}) {
		described[w.Name] = fmt.Sprint(w.Queue, w.Phase, w.Pods, w.Waits.Reason)
	}
	// PodGroups that need no more pods do not wait.
	want := map[string]string{
		"new": "gonemap[]QueueNotFound", "pending": "gonePendingmap[]QueueNotFound",
		"inqueue": "goneInqueuemap[Pending:1]QueueNotFound", "grows": "goneRunningmap[Pending:1]QueueNotFound",
	}
	if !maps.Equal(described, want) {
		t.Errorf("the workloads are %v, want %v", described, want)
	}
}
