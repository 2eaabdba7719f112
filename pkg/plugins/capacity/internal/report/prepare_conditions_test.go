// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

func TestAWaitingPodKeepsTheNodeThatItsConditionNames(t *testing.T) {
	waiting := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	nodes := map[string]*api.NodeInfo{"n1": {Name: "n1"}, "n2": {Name: "n2"}}
	undone := func(status api.TaskStatus) *api.TransactionContext {
		return &api.TransactionContext{Status: status, NodeName: "n2"}
	}
	// message is what Volcano writes about a pod that got a node.
	message := func(node string) string {
		task := api.NewTaskInfo(waiting)
		task.LastTransaction = &api.TransactionContext{Status: api.Allocated, NodeName: node}
		_, text, _ := (&api.JobInfo{Tasks: map[api.TaskID]*api.TaskInfo{task.UID: task}}).TaskSchedulingReason(task.UID)
		return text
	}
	for name, c := range map[string]struct {
		told    string
		current api.TransactionContext
		last    *api.TransactionContext
		want    string
	}{
		"another node":              {message("n1"), api.TransactionContext{Status: api.Pending}, undone(api.Allocated), "n1"},
		"a node that it still has":  {message("n1"), *undone(api.Allocated), nil, "n1"},
		"the same node":             {message("n2"), api.TransactionContext{Status: api.Pending}, undone(api.Allocated), "n2"},
		"a node that is gone":       {message("n3"), api.TransactionContext{Status: api.Pending}, undone(api.Allocated), "n2"},
		"another message":           {"No node has enough free devices", api.TransactionContext{Status: api.Pending}, undone(api.Allocated), "n2"},
		"a node that others leave":  {message("n1"), api.TransactionContext{Status: api.Pending}, undone(api.Pipelined), "n2"},
		"no node in this session":   {message("n1"), api.TransactionContext{Status: api.Pending}, nil, ""},
		"a pod without a condition": {"", api.TransactionContext{Status: api.Pending}, undone(api.Allocated), "n2"},
	} {
		t.Run(name, func(t *testing.T) {
			task := api.NewTaskInfo(waiting.DeepCopy())
			if c.told != "" {
				task.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Message: c.told}}
			}
			task.TransactionContext, task.LastTransaction = c.current, c.last
			keepPossibleNode(task, nodes)
			got := task.NodeName
			if task.LastTransaction != nil {
				got = task.LastTransaction.NodeName
			}
			if got != c.want {
				t.Errorf("the condition will name %q, want %q", got, c.want)
			}
		})
	}
}
