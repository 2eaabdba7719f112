package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// pod is what is known of a pod. It is remembered from session to session, so that a pod
// that has not changed costs a lookup.
type pod struct {
	object *corev1.Pod
	job    api.JobID
	// resources is what the pod itself takes, claims what else it refers to, as far as that
	// can be counted, and demand is all of it, resources first.
	resources *ledger.Part
	claims    []*demand.Claim
	demand    ledger.Demand
	// err says why the pod cannot be counted in full; nil if it can.
	err error
	// told is what the people behind the pod were told last; empty for nothing.
	told string
	// round is the last session that had the pod.
	round uint64
}

// lookAt returns what is known of a task's pod, after finding out what has changed since the
// last session. Within a session, the answer stays the same.
func (p *plugin) lookAt(task *api.TaskInfo) *pod {
	known := p.process.pods[task.UID]
	if known == nil {
		known = &pod{resources: &ledger.Part{}}
		known.demand = ledger.Demand{known.resources}
		p.process.pods[task.UID] = known
	}
	if known.round == p.process.round {
		return known
	}
	known.round, known.job = p.process.round, task.Job
	if known.object != task.Pod {
		known.object = task.Pod
		p.countResources(known, task)
	}
	if len(task.Pod.Spec.ResourceClaims) > 0 {
		p.countClaims(known)
	}
	return known
}

func (p *plugin) countResources(known *pod, task *api.TaskInfo) {
	amounts, err := p.process.resources.amounts(task.Resreq)
	if err != nil {
		klog.ErrorS(err, "Failed to count the resources of a pod", "pod", klog.KObj(task.Pod))
	}
	if known.err = err; !amounts.Equal(known.resources.Amounts) {
		known.resources.Amounts = amounts
	}
}

func (p *plugin) countClaims(known *pod) {
	known.claims, known.err = demand.OfPod(known.object, p.source, p.process.claims)
	known.demand = known.demand[:1]
	for _, claim := range known.claims {
		known.demand = append(known.demand, claim.Part)
	}
}

// forgetPods drops pods that the session does not have. Tasks is how many it has.
func (p *plugin) forgetPods(tasks int) {
	if len(p.process.pods) == tasks {
		return
	}
	for id, known := range p.process.pods {
		if known.round != p.process.round {
			delete(p.process.pods, id)
		}
	}
}

func holderOf(task *api.TaskInfo) ledger.Holder {
	return ledger.Holder(task.UID)
}
