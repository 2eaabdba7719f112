package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Reasons of the events on pods that wait.
const (
	insufficientScalarQuota = "InsufficientScalarQuota"
	taskRequestFailed       = "GetTaskRequestResourceFailed"
)

// refusal is why a pod was refused.
type refusal struct {
	// reason is the reason of the event; empty when the pod's condition says enough.
	reason  string
	message string
}

// report tells the people behind every pod that was refused and is not placed. Upstream makes the
// pod's PodScheduled condition of NodesFitErrors; an AllocatableFn leaves nothing there
// by itself, and must not do so earlier: while a session runs, upstream skips all pods of
// the same task once one has an entry. An event is written when the message changes.
func (p *plugin) report() {
	told := make(map[types.UID]string, len(p.refused))
	for _, job := range p.session.Jobs {
		for id, task := range job.TaskStatusIndex[api.Pending] {
			r, refused := p.refused[id]
			if !refused {
				continue
			}
			if job.NodesFitErrors[id] == nil {
				job.NodesFitErrors[id] = api.NewFitErrors()
				job.NodesFitErrors[id].SetError(r.message)
			}
			told[task.Pod.UID] = r.message
			if r.reason != "" && p.process.told[task.Pod.UID] != r.message {
				p.process.recorder.Event(task.Pod, corev1.EventTypeWarning, r.reason, r.message)
			}
		}
	}
	p.process.told = told
}
