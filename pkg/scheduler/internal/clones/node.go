// SPDX-License-Identifier: Apache-2.0

package clones

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// node is the copy of a node.
type node struct {
	source, info *api.NodeInfo
	// resources are what the copy had at first.
	resources [4]*api.Resource
	renewal   int
	// generation is that of Kubernetes' view of the node with a number of pods. It is zero until the session is open.
	generation int64
	pods       int
	// tasks are those of the copy while they are hidden.
	tasks map[api.TaskID]*api.TaskInfo
}

func newNode(source, info *api.NodeInfo, renewal int) *node {
	n := &node{source: source, info: info, renewal: renewal}
	for i, resource := range resourcesOf(info) {
		n.resources[i] = resource.Clone()
	}
	return n
}

// resourcesOf returns the amounts that change with the pods of a node.
func resourcesOf(info *api.NodeInfo) [4]*api.Resource {
	return [...]*api.Resource{info.Idle, info.Used, info.Releasing, info.Pipelined}
}

func (n *node) due(session int) bool { return session >= n.renewal }

// current reports whether the copy is what NodeInfo.Clone would make of its source. What is not compared here depends on the object of the node. Nodes with
// topologies of cores or with devices that Volcano itself shares are copied each time.
func (n *node) current(source *api.NodeInfo) bool {
	info := n.info
	if n.source != source || !source.Ready() || info.Node != source.Node || info.BindGeneration != source.BindGeneration ||
		source.NumaInfo != nil || source.NumaSchedulerInfo != nil || len(source.Others) > 0 || !sameUsage(source.ResourceUsage, info.ResourceUsage) {
		return false
	}
	for i, resource := range resourcesOf(info) {
		if !sameResource(n.resources[i], resource) {
			return false
		}
	}
	return sameTasks(source.Tasks, info.Tasks)
}

// sameUsage compares when the usage of a node was measured.
func sameUsage(a, b *api.NodeUsage) bool {
	return a == b || a != nil && b != nil && a.MetricsTime.Equal(b.MetricsTime) && len(a.CPUUsageAvg) == len(b.CPUUsageAvg)
}

// hide takes the tasks out of a copy until reveal. Otherwise, opening a session would make the view again, and parse the affinity of all pods.
func (n *node) hide() { n.tasks, n.info.Tasks = n.info.Tasks, nil }

// reveal puts the tasks back, and returns the view of the node. Made is a view without pods. Before is the last view of a node of this name, which may be nil.
func (n *node) reveal(made, before fwk.NodeInfo) fwk.NodeInfo {
	n.info.Tasks, n.tasks = n.tasks, nil
	if before != nil && before.GetGeneration() == n.generation && len(n.info.Tasks) == n.pods {
		return before
	}
	addPods(made, n.info.Tasks, before)
	n.generation, n.pods = made.GetGeneration(), len(n.info.Tasks)
	return made
}

// addPods adds the pods of tasks to a view. What another view has of the same pods serves again.
func addPods(view fwk.NodeInfo, tasks map[api.TaskID]*api.TaskInfo, other fwk.NodeInfo) {
	known := map[*corev1.Pod]fwk.PodInfo{}
	if other != nil {
		for _, pod := range other.GetPods() {
			known[pod.GetPod()] = pod
		}
	}
	for _, task := range tasks {
		pod := known[task.Pod]
		if pod == nil {
			pod, _ = k8sframework.NewPodInfo(task.Pod) // without the terms that cannot be parsed, as in upstream's views
		}
		view.AddPodInfo(pod)
	}
}
