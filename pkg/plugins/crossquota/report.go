// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// reportedStrategy is the subject of the last event on a pod.
type reportedStrategy struct {
	job     api.JobID
	unknown string
}

func (c *cache) reportNode(node *corev1.Node, problems string) {
	klog.V(3).InfoS("Invalid quota annotations on a node", "plugin", Name, "node", node.Name, "problems", problems)
	reference := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	c.recorder.Event(reference, corev1.EventTypeWarning, reasonInvalidQuota, fmt.Sprintf("Node <%s>: %s", node.Name, problems))
}

// reportStrategy writes an event on a pod whose annotation names an unknown strategy, once per value.
func (c *cache) reportStrategy(task *api.TaskInfo, unknown string) {
	now := reportedStrategy{job: task.Job, unknown: unknown}
	if c.reported[task.Pod.UID] == now {
		return
	}
	c.reported[task.Pod.UID] = now
	c.recorder.Eventf(task.Pod, corev1.EventTypeWarning, reasonUnknownStrategy,
		"Annotation %s is %q, which is not a strategy, so the default applies: set it to most-allocated or least-allocated", strategyAnnotation, unknown)
}

// forgetReported drops pods that are in no job of the session.
func (c *cache) forgetReported(ssn *framework.Session) {
	maps.DeleteFunc(c.reported, func(uid types.UID, last reportedStrategy) bool {
		job := ssn.Jobs[last.job]
		return job == nil || job.Tasks[api.TaskID(uid)] == nil
	})
}

// quotasOf returns the quotas of a node for logs.
func (c *config) quotasOf(facts *nodeFacts) string {
	var all []string
	for i, r := range c.resources {
		all = append(all, fmt.Sprintf("%s: %s", r.name, facts.quotas[i].human(r.name)))
	}
	return strings.Join(all, ", ")
}
