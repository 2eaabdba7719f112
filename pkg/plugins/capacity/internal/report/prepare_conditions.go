// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// PrepareConditions prepares what Volcano writes into the conditions of pods and PodGroups when a session ends.
func PrepareConditions(jobs map[api.JobID]*api.JobInfo, nodes map[string]*api.NodeInfo) {
	said := map[*api.FitErrors]*api.FitErrors{}
	for _, job := range jobs {
		keepPossibleNodes(job, nodes)
		keepWords(job, said)
	}
}

// keepWords puts what nodes say about pods into words, once for all pods that share it. Volcano does that several times for each pod, and it takes time for each
// node: a job of thousands of equal pods that no node suits took as long as to ask the nodes. said has the words of all jobs.
func keepWords(job *api.JobInfo, said map[*api.FitErrors]*api.FitErrors) {
	for id, nodes := range job.NodesFitErrors {
		if nodes == nil {
			continue
		}
		if said[nodes] == nil {
			said[nodes] = api.NewFitErrors()
			said[nodes].SetError(nodes.Error())
		}
		job.NodesFitErrors[id] = said[nodes]
	}
}

// keepPossibleNodes keeps the nodes that the conditions of waiting pods name. Volcano writes there to which node a pod of an incomplete gang could go, and tries
// equal nodes, and HyperNodes, in random order. Each session would write the conditions of all pods of each gang that waits.
func keepPossibleNodes(job *api.JobInfo, nodes map[string]*api.NodeInfo) {
	for _, status := range []api.TaskStatus{api.Pending, api.Allocated} {
		for _, task := range job.TaskStatusIndex[status] {
			keepPossibleNode(task, nodes)
		}
	}
}

func keepPossibleNode(task *api.TaskInfo, nodes map[string]*api.NodeInfo) {
	last := task.TransactionContext
	if task.LastTransaction != nil {
		last = *task.LastTransaction
	}
	if last.Status != api.Allocated {
		return
	}
	if told := possibleNode(task.Pod); told != last.NodeName && nodes[told] != nil {
		last.NodeName = told
		task.LastTransaction = &last
	}
}

// possibleNode returns the node in the condition of a pod, as JobInfo.TaskSchedulingReason writes it. It is empty if there is none.
func possibleNode(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled {
			text, _ := strings.CutPrefix(condition.Message, "Pod "+pod.Namespace+"/"+pod.Name+" can possibly be assigned to ")
			node, _ := strings.CutSuffix(text, ", once minAvailable is satisfied")
			return node
		}
	}
	return ""
}
