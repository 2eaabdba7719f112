package crossquota

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// toldStrategy is what an event on a pod said last.
type toldStrategy struct {
	job     api.JobID
	unknown string
}

// reportNode writes an event on a node.
func (p *process) reportNode(node *corev1.Node, problems string) {
	klog.V(3).InfoS("Something is wrong with a node's quota", "plugin", Name, "node", node.Name, "problems", problems)
	reference := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	p.recorder.Event(reference, corev1.EventTypeWarning, reasonInvalidQuota, fmt.Sprintf("Node <%s>: %s", node.Name, problems))
}

// reportStrategy writes an event on a pod that names a strategy that there is not, once.
func (p *process) reportStrategy(task *api.TaskInfo, unknown string) {
	now := toldStrategy{job: task.Job, unknown: unknown}
	if p.told[task.Pod.UID] == now {
		return
	}
	p.told[task.Pod.UID] = now
	p.recorder.Eventf(task.Pod, corev1.EventTypeWarning, reasonUnknownStrategy,
		"Annotation %s is %q, which is no strategy, so the default counts: make it most-allocated or least-allocated", strategyAnnotation, unknown)
}

// forgetTold drops pods that wait no more.
func (p *process) forgetTold(ssn *framework.Session) {
	for uid, last := range p.told {
		job := ssn.Jobs[last.job]
		if job == nil || job.Tasks[api.TaskID(uid)] == nil {
			delete(p.told, uid)
		}
	}
}

// quotasOf is how logs show the quotas of a node.
func (c *config) quotasOf(facts *nodeFacts) string {
	var all []string
	for i, r := range c.resources {
		all = append(all, fmt.Sprintf("%s: %s", r.name, facts.quotas[i].human(r.name)))
	}
	return strings.Join(all, ", ")
}
