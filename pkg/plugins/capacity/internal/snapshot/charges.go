// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// usage is what the pods of one job have and request.
type usage struct {
	job *api.JobInfo
	// queue is the queue of the job. It is valid only if inLedger is set.
	queue                     ledger.QueueID
	inLedger                  bool
	allocated, request, gated ledger.Amounts
	running                   int
	// elsewhere is the sum of what pods have that are charged to other queues.
	elsewhere ledger.Amounts
	// claims, choosing, and cards say that some pod has claims, waits for cards, or has cards.
	claims, choosing, cards bool
}

// needsPods reports whether the devices and cards of a job must be counted pod by pod.
func (u *usage) needsPods() bool {
	least := int(u.job.PodGroup.Spec.MinMember)
	return u.claims || u.choosing || u.cards && len(u.job.Tasks) > least || len(u.job.Tasks) < least
}

// chargeAndAccount charges the new ledger with everything in use: what pods with a node hold, and the devices of all
// allocated claims. A claim counts even if its pod is gone, because its devices are free only after its deallocation.
// Then it accounts what jobs request and still need.
func (s *Snapshot) chargeAndAccount() {
	s.forgetNeeds()
	s.binding = s.strays.anyBinding()
	var later []usage
	var lacking []missing
	var scratch usage
	for _, job := range s.Jobs {
		scratch = s.chargeJob(job, scratch)
		switch {
		case !scratch.inLedger:
		case scratch.needsPods():
			later, scratch = append(later, scratch), usage{}
		default:
			lacking = s.accountJob(lacking, scratch)
		}
	}
	s.chargeStrays()
	s.Forget(s.remains)
	s.chargeClaims()
	s.chargeOrphanedClaims()
	s.Counter.Claims.Forget()
	s.findUnknownCapacity()
	for _, u := range later {
		lacking = s.accountJob(lacking, u)
	}
	s.accountMissing(lacking)
}

// chargeJob charges the resources and cards of a job's pods, and notes pods with claims. It may reuse the lists of another job's usage.
func (s *Snapshot) chargeJob(job *api.JobInfo, reuse usage) usage {
	u := usage{job: job, allocated: reuse.allocated[:0], request: reuse.request[:0], gated: reuse.gated[:0]}
	u.queue, u.inLedger = s.Ledger.Queue(string(job.Queue))
	if u.inLedger && !s.Ledger.Leaf(u.queue) && isOngoing(job) {
		s.Problems.NotLeaf(string(job.Queue))
	}
	for _, task := range job.Tasks {
		pod := s.refresh(task)
		if !u.inLedger {
			s.misplace(pod)
			continue
		}
		if queue, elsewhere := s.elsewhere(pod, task, job); elsewhere {
			charged := s.chargeElsewhere(queue, pod, task)
			u.running, u.elsewhere = u.running+charged.running, demand.Sum(u.elsewhere, charged.allocated)
			continue
		}
		pod.Charge(u.queue, true)
		if pod.HasClaims {
			u.claims = true
			s.consumers = append(s.consumers, newConsumer(task, pod))
		}
		for _, variant := range pod.Alternatives() {
			if u.choosing = true; variant.Cards != nil {
				s.assignCards(variant, task) // an attempt to bind the pod may have failed
			}
		}
		if pod.Cards != nil {
			choosing, has := s.assignCards(pod, task)
			u.choosing, u.cards = u.choosing || choosing, u.cards || has
		}
		s.chargePod(&u, pod, task)
	}
	return u
}

// chargePod charges the resources and cards of a pod that has a node, and adds them to the usage of its job.
func (s *Snapshot) chargePod(u *usage, pod *demand.Pod, task *api.TaskInfo) {
	switch {
	case s.endsLate(task):
		s.charge(u.queue, task, pod.Own())
	case api.AllocatedStatus(task.Status):
		u.running++
		s.charge(u.queue, task, pod.Own())
		u.allocated, u.request = plusPart(u.allocated, &pod.Resources), plusPart(u.request, &pod.Resources)
		if pod.Cards != nil {
			u.request = plusPart(u.request, &pod.Cards.Part)
		}
	case task.Status == api.Releasing && dra.Bound(task.Pod):
		s.retain(u.queue, task, &pod.Resources)
	case task.Status == api.Pending:
		if s.binding {
			s.strays.unsetBinding(task.Pod.UID) // Volcano has given up
		}
		u.request = plusPart(u.request, &pod.Resources)
	}
	if task.SchGated {
		u.gated = plusPart(u.gated, &pod.Resources)
	}
}

// plusPart adds the amounts of a part. On an overflow, it returns the sum unchanged: the ledger reports the overflow
// when the part is charged.
func plusPart(sum ledger.Amounts, part *ledger.Part) ledger.Amounts {
	total, err := sum.PlusPart(part)
	if err != nil {
		return sum
	}
	return total
}

func (s *Snapshot) charge(queue ledger.QueueID, task *api.TaskInfo, d ledger.Demand) {
	if err := s.Ledger.Charge(queue, HolderOf(task), d); err != nil {
		klog.ErrorS(err, "Failed to charge a pod", "pod", klog.KObj(task.Pod))
	}
}

// assignCards assigns the cards of its node to a pod at the start of a session. It reports whether the pod waits for
// cards, and whether it has cards.
func (s *Snapshot) assignCards(pod *demand.Pod, task *api.TaskInfo) (waits, has bool) {
	if pod.Cards.Placed = placed(task); !pod.Cards.Placed {
		s.UnassignCards(pod)
		return pod.Cards.Unnamed() == "" && len(pod.Cards.Requests) > 0, false
	}
	var recorded map[corev1.ResourceName]string
	if !pod.Cards.Charged() {
		recorded = chargerecord.CardsOf(task.Pod)
	}
	if err := pod.Cards.Assign(s.Ledger, s.Fleet.Node(task.NodeName), recorded); err != nil {
		klog.ErrorS(err, "Failed to count the cards of a pod", "pod", klog.KObj(task.Pod))
	}
	s.Remember(pod)
	if s.IsLeaving(task) && s.Ledger.ListsCards(pod.Queue) {
		s.retain(pod.Queue, task, &pod.Cards.Part)
	}
	return false, pod.Cards.Charged()
}

// placed reports whether a pod has a node when the session begins.
func placed(task *api.TaskInfo) bool {
	return api.AllocatedStatus(task.Status) || task.Status == api.Releasing && dra.Bound(task.Pod)
}
