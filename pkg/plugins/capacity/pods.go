package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// pod is what is known of a pod. It is remembered from session to session, so that a pod
// that has not changed costs a lookup.
type pod struct {
	// round is the last session that had the pod.
	round  uint64
	claims []*demand.Claim
	// demand is all that the pod asks for: its resources first, then its claims, as far as they
	// exist and can be counted.
	demand    ledger.Demand
	resources ledger.Part
	// own is the memory of a demand without claims.
	own       [1]*ledger.Part
	hasClaims bool
	// hoped is what the pod is charged in place of its claims while it is only pipelined.
	hoped ledger.Demand
	// queue answers for the pod if inLedger says so; else that queue is set aside.
	queue    ledger.QueueID
	inLedger bool
	job      api.JobID
	object   *corev1.Pod
	// extended is an extended resource that the pod requests and that only DRA serves, while no
	// devices have been given to it for that; empty for none.
	extended corev1.ResourceName
	// err says why the pod cannot be counted in full; nil if it can. ResourcesErr is that of its
	// resources.
	err, resourcesErr error
}

// asks is all that must fit for the pod to be placed: what it would be charged at least, and one
// of each choice among alternatives.
func (known *pod) asks() ledger.Demand {
	asks := known.demand
	for _, claim := range known.claims {
		if len(claim.Choices) > 0 {
			asks = append(slices.Clip(asks), claim.Choices...)
		}
	}
	return asks
}

// wants reports whether a claim of the pod asks for devices of a class and has none yet.
func (known *pod) wants(class string) bool {
	for _, claim := range known.claims {
		if claim.Object.Status.Allocation != nil {
			continue
		}
		for wanted := range claim.Usage.Classes {
			if wanted == class {
				return true
			}
		}
	}
	return false
}

// lookAt returns what is known of a task's pod, after finding out what has changed since the
// last session. Within a session, the answer stays the same. A pod that is changed is
// another object, so that what is known of an object stays true, but for its claims.
func (p *plugin) lookAt(task *api.TaskInfo) *pod {
	known := p.process.pods[task.Pod]
	if known == nil {
		known = p.newPod(task)
		p.process.pods[task.Pod] = known
	}
	if known.round == p.process.round {
		return known
	}
	known.round = p.process.round
	if known.hasClaims {
		p.countClaims(known)
	}
	return known
}

func (p *plugin) newPod(task *api.TaskInfo) *pod {
	known := &pod{object: task.Pod, job: task.Job, hasClaims: len(task.Pod.Spec.ResourceClaims) > 0 || task.Pod.Status.ExtendedResourceClaimStatus != nil}
	amounts, err := p.process.resources.amounts(task.Resreq)
	if err == nil && task.Pod.Status.ExtendedResourceClaimStatus == nil {
		amounts, known.extended, err = p.process.resources.devices(task.Pod, amounts)
	}
	if err != nil {
		known.err, known.resourcesErr = err, err
		klog.ErrorS(err, "Failed to count the resources of a pod", "pod", klog.KObj(task.Pod))
	}
	// Pods of one job mostly want the same; sharing the list saves memory and time.
	if slices.Equal(amounts, p.process.lastAmounts) {
		amounts = p.process.lastAmounts
	}
	p.process.lastAmounts = amounts
	known.resources.Amounts = amounts
	known.own[0] = &known.resources
	known.demand = known.own[:]
	return known
}

func (p *plugin) countClaims(known *pod) {
	known.claims, known.err = demand.OfPod(known.object, p.source, p.process.claims)
	if known.resourcesErr != nil {
		known.err = known.resourcesErr
	}
	known.demand, known.hoped = known.demand[:1], nil
	for _, claim := range known.claims {
		known.demand = append(known.demand, claim.Part)
	}
}

// forgetPods drops pods that the session does not have. Tasks is how many it has.
func (p *plugin) forgetPods(tasks int) {
	if len(p.process.pods) == tasks {
		return
	}
	for object, known := range p.process.pods {
		if known.round != p.process.round {
			delete(p.process.pods, object)
		}
	}
}

func holderOf(task *api.TaskInfo) ledger.Holder {
	return ledger.Holder(task.UID)
}
