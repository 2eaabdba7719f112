package capacity

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// Reasons of the events on queues.
const (
	queueMisplaced      = "QueueMisplaced"
	queueNotLeaf        = "QueueNotLeaf"
	guaranteeNotCovered = "GuaranteeNotCovered"
	quotaNotRead        = "QuotaNotRead"
)

// problem is a kind of thing that is wrong with a queue.
type problem struct {
	queue, reason string
}

// note notes what is wrong with a queue, and what to change.
func (p *plugin) note(queue, reason, message string) {
	if before := p.problems[problem{queue, reason}]; before != "" && before != message {
		message = before + "; besides, " + message
	}
	p.problems[problem{queue, reason}] = message
}

var problemQueues = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "volcano_queue_problems",
	Help: "Number of queues that something is wrong with, by the reason of the event on them",
}, []string{"reason"})

// noteNotLeaf notes that a job is in a queue that has others below it, unless the job is over.
func (p *plugin) noteNotLeaf(job *api.JobInfo) {
	if job.PodGroup.Status.Phase != scheduling.PodGroupCompleted {
		p.note(string(job.Queue), queueNotLeaf,
			"The queue has jobs of its own, but other queues are below it, so that they are not scheduled: move the jobs to one of those")
	}
}

// findProblems looks, besides what was found while reading queues and jobs, for queues that an
// administrator should do something about. Each harms only itself.
func (p *plugin) findProblems() {
	if p.hierarchy {
		for name, reason := range p.misplaced {
			p.note(name, queueMisplaced, "The queue takes no pods: "+reason)
		}
	}
	for _, u := range p.ledger.Uncovered() {
		if name := p.ledger.Name(u.Queue); p.problems[problem{name, guaranteeNotCovered}] == "" {
			p.note(name, guaranteeNotCovered, fmt.Sprintf(
				"The queue's guarantee of %s cannot be kept: it and the queues beside it are guaranteed <%s>, but there is only <%s>: lower guarantees or add nodes",
				u.Dimension, u.Dimension.Format(u.Sum), u.Dimension.Format(u.Limit)))
		}
	}
}

// reportProblems writes an event on a queue when something is wrong with it that was not
// before, and counts the queues.
func (p *plugin) reportProblems() {
	counts := map[string]int{queueMisplaced: 0, queueNotLeaf: 0, guaranteeNotCovered: 0, quotaNotRead: 0}
	for problem, message := range p.problems {
		counts[problem.reason]++
		if p.process.toldQueues[problem] == message {
			continue
		}
		klog.ErrorS(nil, "Something is wrong with a queue", "queue", problem.queue, "reason", problem.reason, "message", message)
		if info, found := p.session.Queues[api.QueueID(problem.queue)]; found {
			p.process.recorder.Event(queueReference(info.Queue), corev1.EventTypeWarning, problem.reason, message)
		}
	}
	p.process.toldQueues = p.problems
	for reason, n := range counts {
		problemQueues.WithLabelValues(reason).Set(float64(n))
	}
}

func queueReference(queue *scheduling.Queue) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Queue", Name: queue.Name, UID: queue.UID}
}
